"""Commands that write the generated documents."""
