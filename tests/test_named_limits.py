"""Every limit that a message names: what is just within it is taken, what is just beyond it is not.

The limits are found in the code, so that a new one without a row here fails.
"""

import ast
import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import redirect_stderr
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
import torch

from dgltree import Equation, Tree, TreeDataset
from dgltree.batching.number_scales import NumberScales, PlaceScale
from dgltree.datasets.formats import Bad
from dgltree.explore.request_fields import RequestFields
from dgltree.training.objectives import OBJECTIVES
from dgltree.trees.equation import BLANK, blank

ROOT = Path(__file__).parents[1]
X, X0 = Tree("Symbol", token="x"), Tree("Symbol", token="x0")


def found_limits() -> set[str]:
    """Constants that are compared with a size, and that a text of the same module names."""
    return {
        f"{path.relative_to(ROOT / 'dgltree').with_suffix('').as_posix().replace('/', '.')}.{name}"
        for path in (ROOT / "dgltree").rglob("*.py")
        for name in _limits_of(ast.parse(path.read_text(encoding="utf-8")))
    }


def _limits_of(module: ast.Module) -> set[str]:
    compared, told = set(), set()
    for node in ast.walk(module):
        if isinstance(node, ast.Compare) and isinstance(node.ops[-1], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
            compared |= _constants(node)
        elif isinstance(node, ast.JoinedStr):
            told |= _constants(node)
    return compared & told


def _constants(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id.isupper() and len(each.id) > 1}


def recorded(recording: ModuleType, size: int) -> None:
    """Functions on nodes of as many fields."""
    fields = {f"x{number}": recording.Kind((1,), torch.float64) for number in range(size)}
    recording.record(recording.PassFunctions(None, None, False, None), recording.Situation(fields, 0), {}, 53)


def changed(known_functions: ModuleType, size: int) -> None:
    """As many passes of a function that multiplies by another number in each."""
    memory, kinds = known_functions.Memory(), {"h": known_functions.Kind((1,), torch.float64)}
    for factor in range(size):

        def apply(nodes: Any, factor: float = factor + 0.5) -> dict[str, torch.Tensor]:
            return {"h": nodes.data["h"] * factor}

        functions = known_functions.PassFunctions(lambda edges: {}, lambda nodes: {}, False, apply)
        met = known_functions.MetRows([known_functions.Met(0, 0)], np.zeros(1, np.int64), True, False, None)
        memory.find(functions, kinds, {}, met)


def decided(catalogue: ModuleType, size: int) -> None:
    """A function that decides by as many numbers of a field."""

    def apply(nodes: Any) -> dict[str, torch.Tensor]:
        return {"h": nodes.data["h"] if int(nodes.data["kind"][0]) < 0 else -nodes.data["h"]}

    functions = catalogue.PassFunctions(lambda edges: {}, lambda nodes: {}, False, apply)
    kinds = {"h": catalogue.Kind((1,), torch.float64), "kind": catalogue.Kind((), torch.int64)}
    known = catalogue.Catalogue(functions, kinds, {}, by="kind")
    for number in range(size):
        known.program(0, number=number)


def summed(catalogue: ModuleType, size: int) -> None:
    """A function that adds up as many messages."""

    def reduce(nodes: Any) -> dict[str, torch.Tensor]:
        return {"h": nodes.mailbox["m"].sum(1)}

    functions = catalogue.PassFunctions(lambda edges: {"m": edges.src["h"]}, reduce, False, None)
    catalogue.Catalogue(functions, {"h": catalogue.Kind((1,), torch.float64)}, {}).program(size)


def branched(catalogue: ModuleType, size: int) -> None:
    """A function that multiplies by another number for each of as many degrees."""

    def reduce(nodes: Any) -> dict[str, torch.Tensor]:
        mail = nodes.mailbox["m"]
        return {"h": mail.sum(1) * (0.5, 0.1, 0.7, 0.4, 0.9, 0.2, 0.6, 0.8)[mail.shape[1] % 8]}

    functions = catalogue.PassFunctions(lambda edges: {"m": edges.src["h"]}, reduce, False, None)
    known = catalogue.Catalogue(functions, {"h": catalogue.Kind((1,), torch.float64)}, {})
    for degree in range(1, size + 1):
        known.program(degree)


def long(catalogue: ModuleType, size: int) -> None:
    """A function of as many values: a field, and sines of sines of it."""

    def apply(nodes: Any) -> dict[str, torch.Tensor]:
        total = nodes.data["h"]
        for _ in range(size - 1):
            total = torch.sin(total)
        return {"h": total}

    functions = catalogue.PassFunctions(lambda edges: {}, lambda nodes: {}, False, apply)
    catalogue.Catalogue(functions, {"h": catalogue.Kind((1,), torch.float64)}, {}).program(0)


def as_numbers(tensors: ModuleType, size: int) -> None:
    """As many columns, each a number of its own."""
    columns = tensors.ValueTensor(np.full(1, tensors.ZERO), [tensors.COLUMNS], (size,))
    tensors.TensorAlgebra(53, None).as_numbers(columns)


class Row(NamedTuple):
    """A limit, and whether a size is within it, by what the code does with that size."""

    name: str
    within: Callable[[ModuleType, int], bool]
    given: int | None = None
    """Replaces a limit that takes gigabytes."""
    most: bool = True
    last: Callable[[int], int] = lambda limit: limit
    """The last size that is within, of the limit."""


def takes(call: Callable[[ModuleType, int], Any], beyond: str) -> Callable[[ModuleType, int], bool]:
    """Within the limit nothing is raised, and beyond it an error with this text."""

    def within(module: ModuleType, size: int) -> bool:
        try:
            call(module, size)
        except ValueError as error:
            assert beyond in str(error)
            return False
        return True

    return within


def whole(text: Callable[[ModuleType, int], str], beyond: str) -> Callable[[ModuleType, int], bool]:
    """Beyond the limit a text has this mark, which says that there is more."""
    return lambda module, size: beyond not in text(module, size)


def nested(depth: int, inner: Tree) -> Tree:
    for _ in range(depth):
        inner = Tree("sin", (inner,))
    return inner


def places(count: int) -> NumberScales:
    """Scales of so many places, and of all others."""
    scale = (0.0, 1.0, -9.0, 9.0)
    each = [PlaceScale(f"k{i}", "f", None, *scale) for i in range(count)]
    return NumberScales([*each, PlaceScale(None, None, None, *scale)])


def wide(size: int, different: int | None = None) -> Tree:
    """A sum of this size, whose leaves are so many different variables, by default all."""
    count = size - 1
    return Tree("Add", tuple(Tree("Symbol", token=f"x{i % (different or count)}") for i in range(count)))


def pictures(module: ModuleType, count: int) -> bool:
    saved: list[str] = []
    with (
        patch("dgltree.plotting.charts.save", lambda _, path: saved.append(path)),
        patch("dgltree.plotting.trees.trees", lambda *_: None),
        patch.object(Path, "mkdir"),
        redirect_stderr(StringIO()) as said,
    ):
        module._draw([X] * count, Path("folder"))
    assert len(saved) == min(count, module.MOST_PICTURES)
    return not said.getvalue()


def unknown_labels(module: ModuleType, count: int) -> str:
    with pytest.raises(ValueError, match="none of the labels") as found:
        module.check_known([str(i) for i in range(count)], ["yes"])
    return str(found.value)


def title(module: ModuleType, count: int) -> str:
    html = module.Attention(torch.rand(count, 2, 3))._repr_html_()
    assert html.count("<svg") == min(count, module.DRAWN)
    return str(html)


def completed(module: ModuleType, side: Tree) -> None:
    module._check(Equation(side, X), [leaf.token or "_" for leaf in side.preorder() if leaf.function == "_"])


def sent(module: ModuleType, size: int) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield b'"' + b"a" * (size - 2) + b'"'

    request: Any = SimpleNamespace(headers={"content-type": "application/json"}, stream=stream)
    try:
        assert len(asyncio.run(module._body(request))) == size - 2
    except module._RequestError as error:
        raise ValueError(str(error)) from None


def ranked(module: ModuleType, depth: int) -> None:
    """The list of a page, up to the model's answer."""
    model = SimpleNamespace(rank=lambda *_: (_ for _ in ()).throw(KeyError("the model")))
    asked = RequestFields({"model": "name", "text": f"{'sin(' * depth}_{')' * depth} = 1"})
    with pytest.raises(KeyError, match="the model"):
        module.EquationsRoom.rank(SimpleNamespace(_lists={"name": model}), asked)


def waited(module: ModuleType, count: int) -> None:
    async def last_of_them() -> None:
        worker = module.Worker("test", 5)
        worker._waiting = count - 1
        async with worker:
            pass

    try:
        asyncio.run(last_of_them())
    except module.TurnedAwayError as error:
        raise ValueError(str(error)) from None


def read_words(module: ModuleType, count: int) -> None:
    model: Any = SimpleNamespace(encoder=SimpleNamespace(order="leaves"))
    with (
        patch.object(module, "_tree", lambda *_: (wide(count), True)),
        patch.object(module, "SequenceEncoder", SimpleNamespace),
    ):
        module._read("", model)


def explained(module: ModuleType, size: int) -> None:
    data = TreeDataset([wide(size)], labels=["a"])
    objective = OBJECTIVES["classes"].with_classes(("a", "b"))
    module.explain(data, lambda some: torch.full((len(some), 2), 0.5), objective)


def has_baseline(module: ModuleType, classes: int) -> bool:
    """``finish`` up to its first choice."""
    objective = SimpleNamespace(classes=range(classes), targets=lambda labels: labels)
    split, told = SimpleNamespace(labels=[]), list[str]()
    decision: Any = SimpleNamespace(splits={"validation": split}, options=SimpleNamespace(no_baseline=False))
    with (
        patch.object(module, "TrainedModel", SimpleNamespace(of=lambda *_: SimpleNamespace(objective=objective))),
        patch.object(module, "_many", side_effect=KeyError("without")),
        patch.object(module, "_answers", side_effect=KeyError("with")),
        patch.object(module, "say", told.append),
        pytest.raises(KeyError) as chosen,
    ):
        module.finish(decision, SimpleNamespace(model=SimpleNamespace(cpu=lambda: None)), Path(), "", {})
    assert bool(told) == (chosen.value.args == ("without",))
    return not told


def clustered(module: ModuleType, cpus: int) -> None:
    with patch.dict(sys.modules, ray=SimpleNamespace(cluster_resources=lambda: {"CPU": cpus})):
        module.resources(None)


def are_classes(module: ModuleType, count: int) -> bool:
    return bool(module.infer_task(TreeDataset([X] * count, labels=[str(i) for i in range(count)])).task == "classify")


ROWS = [
    Row("commands.parse.MOST_PICTURES", pictures),
    Row("datasets.labels.MAX_NAMED_LABELS", whole(unknown_labels, "more")),
    Row(
        "datasets.loading.from_file.MAX_LISTED_RECORDS",
        whole(lambda m, size: m.list_bad_records([Bad(1, "bad")] * size), "more"),
    ),
    Row("datasets.settings.MOST_LINE", takes(lambda m, size: m.Reading(max_line=size), "max_line is")),
    Row("encoders.encoder.DRAWN", whole(title, "the first")),
    Row(
        "encoders.latent.beam_tree.SEEDS",
        takes(lambda m, seed: m.SequenceBeamTree(8, 4, draw_seed=seed), "draw_seed is"),
        last=lambda limit: limit - 1,
    ),
    Row(
        "equations.completion.completer.MAX_DEPTH",
        takes(lambda m, size: completed(m, nested(size, BLANK)), "nested more than"),
    ),
    Row(
        "equations.completion.completer.MOST_BLANKS",
        takes(
            lambda m, size: completed(m, Tree("Add", tuple(blank(f"a{i}") for i in range(size)))), "blanks; a search"
        ),
    ),
    Row("equations.completion.result.MAX_HTML_LENGTH", whole(lambda m, size: m._cut("a" * size), "...")),
    Row(
        "ranking.equation_size.MAX_NODES",
        takes(lambda m, size: m.check_size(Equation(wide(size - 1), X)), "more than 5,000 nodes"),
    ),
    Row(
        "ranking.equation_size.MAX_DEPTH",
        takes(lambda m, size: m.check_size(Equation(nested(size - 1, X), X)), "more than 200 deep"),
    ),
    Row(
        "equations.truth.judged_equation.MOST_NAMES",
        takes(lambda m, size: m.JudgedEquation(Equation(wide(size + 1), X0)), "variables"),
    ),
    Row(
        "equations.truth.program.MOST_NODES",
        takes(lambda m, size: m.Program(Equation(wide(size), X0), school=True), "different parts"),
    ),
    Row(
        "equations.truth.program.MOST_NODES",
        takes(lambda m, size: m.Program(Equation(wide(size - 1, 2), X0), school=True), "60,000 nodes"),
        last=lambda limit: 20 * limit,
    ),
    Row(
        "equations.marking.answer_text.MAX_ANSWER_LENGTH",
        takes(lambda m, size: m.TextRules().plain("1" * size), "characters; at most"),
    ),
    Row(
        "equations.marking.checker.MAX_DIGITS",
        takes(lambda m, size: m.rounding_of(size, None), "from 0 to 30"),
    ),
    Row("explore.app.MAX_REQUEST_BYTES", takes(sent, "more than 64 KB")),
    Row("explore.tree_drawing.MAX_TEXT_LENGTH", whole(lambda m, size: m.shorten("a" * size), "...")),
    Row(
        "explore.batch_room.MOST_NODES",
        takes(
            lambda m, n: m._trees(RequestFields({"text": f"x\n{'sin(' * (n - 2)}x{')' * (n - 2)}"})), "nodes; the page"
        ),
        given=30,
    ),
    Row(
        "explore.batch_room.MOST_TREES",
        takes(lambda m, size: m._trees(RequestFields({"text": "x+y\n" * size})), "trees; the page"),
    ),
    Row("engine.compiled.catalogue.MOST_MESSAGES", takes(summed, "messages; compiled programs take at most")),
    Row("engine.compiled.catalogue.MOST_KINDS", takes(decided, "different values, and each one needs its own program")),
    Row("engine.compiled.catalogue.MOST_PROGRAMS", takes(branched, "programs for different numbers of messages")),
    Row("engine.compiled.catalogue.MOST_VALUES", takes(long, "the programs would need more than")),
    Row(
        "engine.compiled.known_functions.MOST_RECORDED",
        takes(changed, "the functions computed something different in each of"),
        given=5,
    ),
    Row("engine.compiled.recording.MOST_FIELDS", takes(recorded, "fields; a program")),
    Row("engine.compiled.tensors.FEW", takes(as_numbers, "two axes of more than")),
    Row("equations.typed.reader.MAX_LENGTH", takes(lambda m, size: m.check_length("x" * size), "characters; at most")),
    Row("explore.equation_room.MAX_BLANK_DEPTH", takes(ranked, "nodes below")),
    Row("explore.tree_room.MIN_VECTORS", takes(lambda m, size: m.principal(torch.rand(size, 3)), "a map"), most=False),
    Row("explore.sequence_room.MOST_WORDS", takes(read_words, "words and brackets")),
    Row("explore.tree_drawing.MOST_NODES", takes(lambda m, size: m.unfold_tree(wide(size)), "nodes; the page")),
    Row("explore.endpoint.MOST_WAITING", takes(waited, "32 requests")),
    Row("models.checkpoint.MAX_HEADER_LENGTH", takes(lambda m, size: m.check_length("a" * size), "characters")),
    Row("read.infix.DIGITS", takes(lambda m, size: m.read_infix("1" * size), "a number of")),
    Row("read.text.MOST_WRITTEN", takes(lambda m, size: m.check_unfolded(SimpleNamespace(size=size)), "nodes")),
    Row("scale.running.MIN_WORKERS", takes(clustered, "CPUs"), most=False),
    Row(
        "training.by_column.MAX_VALUES",
        takes(lambda m, size: m.values_of([str(i) for i in range(size)]), "different values, such as '0'"),
    ),
    Row("training.explaining.MOST_NODES", takes(explained, "explain takes trees"), given=12),
    Row("training.finishing.MOST_OF_A_BASELINE", has_baseline),
    Row("training.deciding.MOST_CLASSES", are_classes),
    Row("training.model_card.MAX_LISTED_CLASSES", whole(lambda m, size: m._class_names(["x"] * size), " more")),
    Row("training.pipeline.MAX_LISTED_PLACES", whole(lambda m, size: m._of_places(places(size)), " more")),
    Row(
        "trees.logic.MOST_VARIABLES",
        takes(lambda m, size: m.TruthTables([f"x{i}" for i in range(size)]), "variables; a truth table"),
    ),
    Row("trees.picture.MAX_NAME_LENGTH", whole(lambda m, size: m._cut("a" * size), "…")),
]
ELSEWHERE = {"scale.tables.MAX_BLOCK_BYTES"}
"""Bytes held at a time, which are counted by pieces of a file: ``tests/scale/test_tables.py``."""


def test_every_limit_that_a_message_names_has_a_row() -> None:
    assert found_limits() - {row.name for row in ROWS} == ELSEWHERE


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_last_size_within_a_limit_is_taken_and_the_next_is_not(row: Row) -> None:
    path, _, name = f"dgltree.{row.name}".rpartition(".")
    module = import_module(path)
    with patch.object(module, name, row.given or getattr(module, name)):
        last = row.last(getattr(module, name))
        beyond = last + 1 if row.most else last - 1
        assert [row.within(module, size) for size in (2 * last - beyond, last, beyond)] == [True, True, False]
