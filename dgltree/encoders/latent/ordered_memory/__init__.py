"""Ordered Memory (Shen et al. 2019, arXiv 1910.13466): attention, slots, memory, and its core over ids."""

from dgltree.encoders.latent.ordered_memory.network import MemorySteps, OrderedMemory, SequenceOrderedMemory

__all__ = ["MemorySteps", "OrderedMemory", "SequenceOrderedMemory"]
