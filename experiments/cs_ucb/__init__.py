"""What the commands for CS-UCB share."""
