"""What is traced and compiled: one round, its training, and the programs made of them; opens no file."""
