"""Vectors of sentences without labels, measured by semantic textual similarity."""
