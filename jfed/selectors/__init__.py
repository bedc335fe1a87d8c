"""Client selection schemes: one file each, found by the catalogue. See CONTRIBUTING.md for how to add one."""
