"""Simple arithmetic modulo 10: expressions in brackets, nested deeper in the test than in training."""
