"""The host's side of a command: units of work, their order, checkpoints and progress."""
