"""Models behind one protocol: Gemini, any endpoint of the OpenAI wire, and one that works offline."""
