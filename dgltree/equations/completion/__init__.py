"""Fillers of the blanks of an equation: the answers of ``dgltree complete`` and ``dgltree verify``."""
