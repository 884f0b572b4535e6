"""Compositional table lookup: chains of functions of a table, longer in the test than in training."""
