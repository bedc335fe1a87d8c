"""Code that the tools share that write parts of pages."""
