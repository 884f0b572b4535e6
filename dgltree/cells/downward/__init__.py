"""Cells from roots to leaves: what a parent hands to each child."""
