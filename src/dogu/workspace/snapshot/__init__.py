"""What changed below the roots between two looks (`trees`), with the contents from before (`pack`)."""
