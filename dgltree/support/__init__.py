"""Small helpers that every package may use: no torch but in torch_internals.py, nothing of trees or equations."""
