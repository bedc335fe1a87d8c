"""The code that is traced and compiled: one round, its training, and the programs made of them. It opens no file."""
