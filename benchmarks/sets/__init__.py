"""Data sets on which ``dgltree fit`` is tried, and the table of what it reaches with its defaults."""
