"""Cores over sequences of ids, and how trees are written as sequences."""
