"""Filling blanks: training on them, and ranks of fillers on the published, our own and the textbooks' blanks."""
