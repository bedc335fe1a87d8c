"""Code that the E3CS commands share."""
