"""What the model is told besides the conversation, and how that stays within its window."""
