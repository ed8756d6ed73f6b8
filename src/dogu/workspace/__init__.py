"""What the machine offers, as plain libraries that know no tool, no model and no door."""
