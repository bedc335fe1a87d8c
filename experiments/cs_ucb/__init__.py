"""Code that the CS-UCB commands share."""
