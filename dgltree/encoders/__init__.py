"""Encoders: a batch of trees to one vector a root."""

from dgltree.encoders.tree import TreeEncoder

__all__ = ["TreeEncoder"]
