"""Whether and where an equation holds, by exact and by bounded arithmetic."""
