"""What a user adds: commands of their own, skills, hooks around a turn."""
