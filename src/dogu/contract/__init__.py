"""What a tool is: content, display, errors, result, confirmation, tool, declaration."""
