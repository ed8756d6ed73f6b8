"""The door for editors: the agent over the Agent Client Protocol, by standard streams."""
