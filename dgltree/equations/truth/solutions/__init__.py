"""The solutions of an equation in one unknown: which they are, and why these are all."""
