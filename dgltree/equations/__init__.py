"""Ranking, verification and numeric truth of equations, and the models for them."""
