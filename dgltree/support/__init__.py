"""Helpers of all packages: arguments, files, processes. No torch, except in torch_internals.py."""
