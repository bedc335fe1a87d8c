"""What the commands for Eiffel share."""
