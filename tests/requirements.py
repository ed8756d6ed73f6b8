"""Every sentence of the five documents as a requirement: id -> what it asks, where we differ and why.

Japanese and Korean describe the file tools, Japanese and Traditional Chinese the tool API, Simplified Chinese the shell
tool. A test holds a requirement by the mark `@pytest.mark.requirement("id")`; test_requirements.py checks both ways.
"""

from requirement_api import TOOL_API
from requirement_entry import Requirement
from requirement_files import FILE_TOOLS
from requirement_shell import SHELL_TOOL

REQUIREMENTS: dict[str, Requirement] = {**FILE_TOOLS, **TOOL_API, **SHELL_TOOL}
