"""Fused steps: what ``combine`` says, in one pass over memory each way, if a cell says that it is covered."""
