"""What a person adds: commands of their own, skills, hooks around a turn."""
