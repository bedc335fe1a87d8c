"""What several experiments have in common."""
