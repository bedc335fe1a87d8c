"""Commands that write the generated documents, and commands for a borrowed accelerator."""
