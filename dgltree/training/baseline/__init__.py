"""The baseline next to every network: a linear model or boosted trees over counts of what occurs in a tree."""
