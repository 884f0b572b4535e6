"""Notations of trees, one per file, and the table of mathematical functions. No torch."""
