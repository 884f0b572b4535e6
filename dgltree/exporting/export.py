"""Exporting a model: a folder with its graph, and with what a program needs to turn a tree into the graph's inputs."""

import json
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import shorten
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from dgltree.batching.batch import TreeBatch, batch
from dgltree.batching.vocabulary import UNKNOWN, Vocabulary
from dgltree.cells import Cell
from dgltree.datasets.settings import Reading
from dgltree.encoders import TreeEncoder
from dgltree.engine.checks import check_nodes
from dgltree.exporting.plan import Tables, groups_of, input_names, tables_of
from dgltree.models.tree_model import TreeModel, evaluating
from dgltree.support.files import replacing
from dgltree.support.torch_internals import hooks_of
from dgltree.training.model_files import READING, WEIGHTS
from dgltree.training.objectives import Classes
from dgltree.training.trained_model import Examples, TrainedModel
from dgltree.trees.tree import Tree

GRAPH = "model.onnx"
"""Next to ``READING`` in the folder of an exported model."""


class Exported:
    """An exported model, which :func:`dgltree.export` wrote.

    Args:
        folder: with ``model.onnx`` and ``reading.json``.
        model: what was exported.
        cell: its cell.
        group_of: the group of each function.
    """

    def __init__(self, folder: Path, model: "TrainedModel | nn.Module", cell: Cell, group_of: list[int]) -> None:
        self.folder = folder
        self._model = model
        self._cell = cell
        self._group_of = group_of

    @property
    def path(self) -> Path:
        """The file of the graph."""
        return self.folder / GRAPH

    def inputs(self, trees: "Examples | Sequence[Tree] | TreeBatch") -> Tables:
        """Return the arrays of one run of the graph, by the names of its inputs (docs/howto/export.md).

        Args:
            trees: for a trained model whatever its ``predict`` reads; for others trees, or a batch.

        Raises ``ValueError`` as ``predict`` does, for trees that cannot be read, and for functions or tokens that the
        model does not know; and for a batch with input vectors ``x``.
        """
        if isinstance(self._model, TrainedModel):
            flat = self._model.known(trees).trees
        else:
            flat = trees if isinstance(trees, TreeBatch) else batch(list(trees), self._cell.vocabulary)
        if flat.x is not None:
            raise ValueError("the batch has input vectors x; an exported model reads tokens, numbers and functions")
        check_nodes(self._cell, flat)
        return tables_of(flat, self._cell, self._group_of)

    def __repr__(self) -> str:
        return f"<Exported: {self.path}, {self.path.stat().st_size:,} bytes>"


def export(
    model: "TrainedModel | TreeModel | TreeEncoder", path: str | Path, *, network_only: bool = False
) -> Exported:
    """Write a model as an ONNX graph, which ONNX Runtime runs in any language, for trees of any shape.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import TreeLSTM
        >>> from dgltree.encoders import TreeEncoder
        >>> trees = [dgltree.read_infix("sin(x) + 3")]
        >>> encoder = TreeEncoder(TreeLSTM(dgltree.Vocabulary.from_trees(trees), 8))
        >>> exported = dgltree.export(encoder, "build/encoder")  # doctest: +SKIP
        >>> exported.inputs(trees)["children"]  # doctest: +SKIP
        array([0, 2, 1])

    Args:
        model: of :func:`dgltree.fit`; or a ``TreeModel``, or a ``TreeEncoder`` without pooling.
        path: the folder to write ``model.onnx`` and ``reading.json`` to.
        network_only: export the network of a model whose answers are means with those of a baseline, and its threshold.
            Its answers are not those of ``predict`` then, and ``left_out`` in ``reading.json`` names the baseline.

    The outputs of the graph are ``answers``, for a trained model what ``predict_proba`` gives, or for numbers what
    ``predict`` gives, for a ``TreeModel`` what its call gives; for a trained model of classes ``label`` (examples,),
    the number of the predicted class; and ``vectors`` (trees, n), those of the roots.

    Raises ``ValueError`` for a model that has no such graph, with the reason, and for a cell of your own that torch
    cannot trace, with the line; ``ImportError`` without the extra ``export``.

    See also: docs/howto/export.md, for planners in JavaScript and numpy.
    """
    network = model.model if isinstance(model, TrainedModel) else model
    encoder = network.encoder if isinstance(network, TreeModel) else network
    _check(model, encoder, network_only)
    assert isinstance(encoder, TreeEncoder)
    cell = encoder.cell
    folder = Path(path)
    if (folder / WEIGHTS).exists():
        raise ValueError(
            f"{folder} is the folder of a model, whose reading.json would be replaced: give another folder"
        )
    from dgltree.exporting.assembly import Assembly
    from dgltree.exporting.pieces import pieces_of, trace

    groups, group_of = groups_of(cell)
    with evaluating(network):
        pieces = pieces_of(cell, _answer_of(model))
        try:
            trace(network, pieces)
        except Exception as error:  # whatever torch's tracers say of a user's cell
            raise ValueError(_why_not(cell, error)) from error
        graph = Assembly(cell, pieces, groups).model()
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / GRAPH) as beside:
        beside.write_bytes(graph.SerializeToString())
    with replacing(folder / READING) as beside:
        beside.write_text(json.dumps(_reading_of(model, cell, group_of), indent=1) + "\n", encoding="utf-8")
    return Exported(folder, model, cell, group_of)


def _left_out(model: Any) -> str | None:
    """The share of a model's answers that is a baseline's, and what this is; None if there is none."""
    average = model.average if isinstance(model, TrainedModel) else None
    return None if average is None or average.weight == 1 else f"{1 - average.weight:.0%} {average.baseline.what}"


def _check(model: Any, encoder: Any, network_only: bool) -> None:
    """``ValueError`` for a model that has no graph, or whose graph would answer differently."""
    if not isinstance(encoder, TreeEncoder):
        raise ValueError(
            f"a {type(encoder).__name__} cannot be exported; give a TreeEncoder or a model with a TreeEncoder"
        )
    if isinstance(model, TrainedModel):
        left_out = _left_out(model)
        if left_out is not None and not network_only:
            raise ValueError(
                f"its predictions are {left_out}; the baseline cannot be exported: fit with --no-baseline "
                "(baseline=False), or export only the network with --network-only (network_only=True)"
            )
        if model.features is not None:
            raise ValueError(
                f"the model reads columns next to the trees, {', '.join(model.features.names)}, which an exported "
                "graph cannot read"
            )
    if encoder.rounds:
        raise ValueError(
            f"an exported graph makes one upward pass, but this encoder makes {len(encoder.cells)}; use rounds=1"
        )
    if encoder.pool is not None:
        raise ValueError(
            "an exported graph returns the vectors of roots, but this encoder pools the vectors of all nodes"
        )
    cell = encoder.cell
    parameter = cell.first_weight
    if parameter.device.type != "cpu":
        raise ValueError(f"the model is on {parameter.device}: export model.cpu()")
    if parameter.dtype not in (torch.float32, torch.float64):
        raise ValueError(f"its weights are {parameter.dtype}; they must be float32 or float64")
    changed = [*cell.called_maps(), *(["cell"] if hooks_of(cell) else [])]
    if changed:
        raise ValueError(f"{changed[0]} has hooks or its own forward, which an exported graph cannot run: remove these")
    if type(cell).leaf_states is not Cell.leaf_states:
        raise ValueError(
            f"{type(cell).__name__} overrides leaf_states, which reads a batch: override embedded_leaves or "
            "leaf_gates instead"
        )


def _answer_of(model: Any) -> Callable[[Tensor], dict[str, Tensor]] | None:
    """The function from the roots' vectors (trees, n) to answers, if the model gives some."""
    if isinstance(model, TrainedModel):
        objective = model.objective
        network = model.model

        def answer(vectors: Tensor) -> dict[str, Tensor]:
            answers = objective.answers(network.read_out(vectors))
            return (
                {"answers": answers, "label": objective.predicted(answers)} if model.classes else {"answers": answers}
            )

        return answer
    return (lambda vectors: {"answers": model.read_out(vectors)}) if isinstance(model, TreeModel) else None


def _why_not(cell: Cell, error: Exception) -> str:
    """One line that says where a cell of a user's, or else torch, stopped."""
    frames = getattr(error, "real_stack", None) or traceback.extract_tb(error.__traceback__)
    kinds = [kind for kind in type(cell).__mro__ if not kind.__module__.startswith(("dgltree.", "torch."))]
    functions = [value for kind in kinds for value in vars(kind).values() if isinstance(value, FunctionType)]
    own = {function.__code__.co_filename for function in functions}
    place = ""
    for frame in frames:
        if frame.filename in own:
            place = f" at {Path(frame.filename).name}:{frame.lineno}, {frame.line!r}"
    reason = shorten(str(error), 200, placeholder=" ...")
    return f"a {type(cell).__name__} cannot be exported: torch cannot trace it{place}: {reason}"


def _scales_of(vocabulary: Vocabulary) -> dict[str, Any]:
    """The scales of numbers by their place, [function, that above, position] to [middle, spread], narrow ones first."""
    scales = vocabulary.scales
    if scales is None:
        return {"scales": [], "own_positions": []}
    kinds = {(place.leaf, place.parent) for place in scales.places if place.parent is not None}
    several = Counter(parent for _, parent in kinds)
    return {
        "scales": [
            [[place.leaf, place.parent, place.position], [place.middle, place.spread]] for place in scales.places
        ],
        "own_positions": sorted(name for name, count in several.items() if name is not None and count > 1),
    }


def _reading_of(model: Any, cell: Cell, group_of: list[int]) -> dict[str, Any]:
    """The description by which a program turns a tree into the inputs of the graph, and the answers into labels."""
    vocabulary = cell.vocabulary
    functions = [
        {"name": name, "children": arity, "group": group}
        for (name, arity), group in zip(vocabulary.functions, group_of, strict=True)
    ]
    found: dict[str, Any] = {
        "inputs": input_names(cell),
        "trees_of_an_example": getattr(model, "each", 1),
        "functions": functions,
        "tokens": list(vocabulary.tokens),
        "unknown_token": vocabulary.tokens.index(UNKNOWN) if vocabulary.unk else None,
        "token_parts": vocabulary.parts,
        "numbers": cell.numbers,
        "left_out": _left_out(model),
        "classes": None,
        "special": ["trees that a program makes"],
        **_scales_of(vocabulary),
    }
    if isinstance(model, TrainedModel):
        objective = model.objective
        threshold = objective.threshold if isinstance(objective, Classes) else None
        reading = model.reading
        ways = {
            f"the notation {reading.notation}": reading.notation not in ("sexpr", "json"),
            "drop": reading.drop,
            "binarize": reading.binarize,
            "keys": reading.keys != Reading.keys,
            "token_parts": vocabulary.parts,
        }
        found |= {
            "classes": list(model.classes) or None,
            "threshold": None if threshold is None else threshold.to_json(model.classes),
            "reading": reading.to_json(),
            "dates": cell.numbers and reading.dates is not False,
            # ways of reading that the reference planners lack
            "special": [way for way, is_used in ways.items() if is_used],
        }
    return found
