"""Twelve sets on which nothing was chosen: ``dgltree fit`` with its defaults next to peers."""
