"""Predictions of a network for fillers, forms and equations: ranks, scores and probabilities."""
