"""Vectors of trees or nodes to a file, block after block: what is written is not held."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.vocabulary import NO_TOKEN
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.datasets.vector_files import check_vector_file
from dgltree.support.files import replacing

if TYPE_CHECKING:
    import pyarrow

VECTOR = "vector"
Write = Callable[[TreeDataset | None, Tensor, list[int]], None]
"""``write(dataset, vectors, order)``: the examples of a block (None: there are none), a vector for each of their trees
or nodes, (rows, n), and the order of the examples followed by what could not be read."""


@contextmanager
def writer_for(path: str | Path, nodes: bool, width: int, each: int) -> Iterator[Write]:
    """A writer of vectors (width,), by the suffix of the file, which is there once the block ends.

    An example has ``each`` trees, 1 or 2.

    Raises ``ValueError`` as :func:`check_vector_file` does.
    """
    check_vector_file(path, nodes)
    kind = Path(path).suffix
    with replacing(path) as beside, _npy(beside, width, each) if kind == ".npy" else _parquet(beside, nodes) as write:
        yield write


@contextmanager
def _npy(path: Path, width: int, each: int) -> Iterator[Write]:
    """One row per tree in the order of the lines, of NaN for what could not be read."""
    rows = 0

    def write_header() -> None:
        kind = np.lib.format.dtype_to_descr(np.dtype("<f4"))
        header = {"descr": kind, "fortran_order": False, "shape": (rows, width)}
        np.lib.format.write_array_header_1_0(file, header)  # which leaves room for the number of rows to grow

    def write(_: TreeDataset | None, vectors: Tensor, order: list[int]) -> None:
        nonlocal rows
        lost = np.full((len(order) * each - len(vectors), width), np.nan, "<f4")
        block = np.concatenate([vectors.float().numpy(), lost]).reshape(len(order), each * width)
        file.write(np.ascontiguousarray(block[order], "<f4").tobytes())
        rows += len(order) * each

    with path.open("wb") as file:
        write_header()
        yield write
        file.seek(0)
        write_header()


@contextmanager
def _parquet(path: Path, nodes: bool) -> Iterator[Write]:
    """A row per tree, or a node, that could be read: whose it is, and the vector."""
    from pyarrow.parquet import ParquetWriter

    def table(dataset: TreeDataset | None, vectors: Tensor) -> "pyarrow.Table":
        return whose(dataset, nodes).append_column(VECTOR, vectors_column(vectors))

    def write(dataset: TreeDataset | None, vectors: Tensor, _: list[int]) -> None:
        if dataset is not None:
            file.write_table(table(dataset, vectors))

    with ParquetWriter(path, table(None, torch.empty(0, 0)).schema) as file:
        yield write


def vectors_column(vectors: Tensor) -> "pyarrow.Array":
    """Vectors (rows, n), a list of float32 a row."""
    import pyarrow

    rows, width = vectors.shape
    return pyarrow.ListArray.from_arrays(
        pyarrow.array(np.arange(rows + 1) * width, pyarrow.int32()), vectors.float().numpy().ravel()
    )


def whose(dataset: TreeDataset | None, nodes: bool) -> "pyarrow.Table":
    """The columns next to the vectors: ``tree`` is 0, or 1 for the second of a pair; ``node`` counts in preorder."""
    import pyarrow

    columns = {"line": pyarrow.int64(), "id": pyarrow.string(), "tree": pyarrow.int64()}
    if nodes:
        columns |= {"node": pyarrow.int64(), "function": pyarrow.string(), "token": pyarrow.string()}
    schema = pyarrow.schema(columns)
    return schema.empty_table() if dataset is None else pyarrow.table(_columns(dataset, nodes), schema=schema)


def _columns(dataset: TreeDataset, nodes: bool) -> dict[str, Any]:
    trees = dataset.trees
    each = dataset.each
    tree = np.arange(len(trees))
    if not nodes:
        return _of_trees(dataset, tree, each)
    sizes = trees.sizes.numpy()
    start = np.cumsum(sizes) - sizes
    vocabulary = trees.vocabulary
    assert vocabulary is not None
    return _of_trees(dataset, np.repeat(tree, sizes), each) | {
        "node": np.arange(trees.num_nodes) - np.repeat(start, sizes),
        "function": [vocabulary.functions[f][0] for f in trees.function.tolist()],
        "token": [None if t == NO_TOKEN else vocabulary.tokens[t] for t in trees.token.tolist()],
    }


def _of_trees(dataset: TreeDataset, tree: np.ndarray, each: int) -> dict[str, Any]:
    examples = (tree // each).tolist()
    return {
        "line": [dataset.lines[i] for i in examples],
        "id": [dataset.ids[i] for i in examples],
        "tree": tree % each,
    }
