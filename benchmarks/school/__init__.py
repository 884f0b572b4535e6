"""Completing equations of school and first year, each with the answer of a textbook: several solvers, one scoring."""
