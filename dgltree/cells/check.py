"""What a cell refuses to run on: batches of another vocabulary, and inputs that it would lose."""

from typing import TYPE_CHECKING

import torch

from dgltree.batch import NO_TOKEN, TreeBatch, check_ids

if TYPE_CHECKING:
    from dgltree.cells.cell import Cell


def check_batch(cell: "Cell", batch: TreeBatch) -> None:
    """``ValueError`` where a cell cannot run on a batch, or would lose something that the batch carries."""
    vocabulary = cell.vocabulary
    if batch.vocabulary is not None and batch.vocabulary != vocabulary:
        raise ValueError("the batch was made with another vocabulary than the cell's; batch with cell.vocabulary")
    if batch.vocabulary is None:
        check_ids(batch, vocabulary)
    arity, token = batch.arity.cpu(), batch.token.cpu()
    if batch.value is not None and len(numbers := torch.nonzero(~batch.value.isnan())):
        raise ValueError(f"node {int(numbers[0])} carries a number; this cell reads tokens and input vectors only")
    if batch.x is not None and cell.input_size is None:
        raise ValueError("the batch carries input vectors x, and this cell has no input_size: they would be lost")
    if batch.x is not None and batch.x.shape[1] != cell.input_size:
        raise ValueError(f"x has width {batch.x.shape[1]}; the cell's input_size is {cell.input_size}")
    dtype = next(cell.parameters()).dtype
    if batch.x is not None and batch.x.dtype != dtype:
        raise ValueError(f"x is {batch.x.dtype}; the cell's weights are {dtype}")
    if cell.leaf != "gates":
        bare = torch.nonzero((arity == 0) & (token == NO_TOKEN))
        if len(bare):
            raise ValueError(f"node {int(bare[0])} is a leaf without a token; leaf={cell.leaf!r} embeds tokens")
    if cell.input_size is None:
        lost = torch.nonzero((arity > 0) & (token != NO_TOKEN))
        if len(lost):
            raise ValueError(f"inner node {int(lost[0])} has a token, which a cell without input_size would lose")
