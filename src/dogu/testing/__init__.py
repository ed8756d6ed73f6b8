"""For those who test tools and agents: scripted models, a fake Gemini server, a temporary workspace."""
