"""One file per published table or figure; each is a command, `python -m experiments.NAME`."""
