"""The subcommands of `jfed`, one file each with its `Settings` and a `main`; `jfed.cli` lists them."""
