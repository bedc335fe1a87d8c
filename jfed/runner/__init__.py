"""What happens on the host: units of work, checkpoints, progress, and the order in which they are done."""
