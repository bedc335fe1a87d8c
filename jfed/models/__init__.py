"""Models: one file for each family of networks, found by the catalogue; `classifier` makes a model of options."""
