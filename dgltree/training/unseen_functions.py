"""Weights of functions that stand for unknown ones if training has no rare function to learn them from."""

from collections.abc import Iterator

import torch
from torch import Tensor

from dgltree.batching.vocabulary import UNKNOWN
from dgltree.cells import Cell
from dgltree.cells.typed_linear import TypedLinear


def find_unseen_functions(cell: Cell, counts: Tensor) -> list[tuple[TypedLinear, int]]:
    """The maps of ``<unk>`` of a cell, each with its place, that no node of the training set reaches.

    Args:
        cell: of the model.
        counts: (F,) int64, the nodes of each function of its vocabulary.
    """
    strange = {f for f, (name, _) in enumerate(cell.vocabulary.functions) if name == UNKNOWN and not int(counts[f])}
    return list(_maps(cell, strange)) if cell.typed else []


def _maps(cell: Cell, functions: set[int]) -> Iterator[tuple[TypedLinear, int]]:
    for linear in cell.named_maps().values():
        for function, place in linear.position.items():
            if function in functions and linear.count > 1:
                yield linear, place


def take_means(maps: list[tuple[TypedLinear, int]]) -> None:
    """Give each of these places the mean of the weights of the others, which are those of known functions."""
    with torch.no_grad():
        for linear, place in maps:
            for weights in (each for each in linear.parameters() if len(each) == linear.count):
                others = torch.arange(len(weights), device=weights.device) != place
                weights[place] = weights[others].mean(0)
