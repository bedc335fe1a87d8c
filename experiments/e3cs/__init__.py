"""What the commands for E3CS share."""
