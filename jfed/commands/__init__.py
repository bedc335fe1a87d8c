"""What `jfed` can be told to do: one file per subcommand, with its settings and a `main`. `jfed.cli` lists them."""
