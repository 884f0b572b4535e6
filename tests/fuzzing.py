"""What ``scripts/fuzz`` throws at readers, model files, caches and checkpoints, and what they may answer.

A reader reads or raises ``ValueError``; what is read and can be written reads to the same again. A damaged file is
refused, or nothing of it is different. Everything else is a defect.
"""

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from hypothesis import strategies as st
from tampered import answers, kinds, tampered

import dgltree
from dgltree import Tree, TreeDataset, Vocabulary, batch
from dgltree.cells import TreeSMU
from dgltree.datasets.formats.chunks import CHUNK
from dgltree.datasets.formats.parquet_rows import pieces
from dgltree.datasets.formats.source import TOO_LONG
from dgltree.datasets.loading.cache import cache_path
from dgltree.encoders import TreeEncoder, make_encoder
from dgltree.equations.completion.completer import Completer
from dgltree.models import ClassifierReadout, EquationModel, EquationReadout, TreeModel
from dgltree.read.bracket import write_sst, write_treebank, write_unlabelled
from dgltree.read.conllu import iter_conllu
from dgltree.read.infix import read_equation
from dgltree.read.infix_writer import write_equation, write_infix
from dgltree.read.latex_writer import write_latex_equation
from dgltree.read.notations import NOTATIONS, detect
from dgltree.read.sexpr import write_sexpr
from dgltree.read.typed import read_typed
from dgltree.training.checkpoints import WholeCheckpoints, checked

CONLLU = "# sent_id = a-1\n1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\t_\n2\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_\n\n"
TEXTS = {
    "sst": "(3 (2 The) (4 (2 Rock) (3 .)))",
    "treebank": "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (-NONE- *))",
    "brackets": "( not ( e ( or ( not f ) ) ) )",
    "sexpr": '(+ x "a b" (sin y)) ; comment',
    "json": '{"label": "add", "children": [{"label": "x", "token": "t"}, {"label": "2"}]}',
    "infix": "sin(x)^-2*(y - 3/4) + sqrt(x_1, ) - log(e, 10)*_ / 0.7e-3",
    "python": "def f(x, *y):\n    return [x + 1 for z in y if not z]\n",
}
TYPED = r"2x(x + 1) - |y|½ + sin²2x^{10} √x + \frac{\sqrt[3]{x_1}}2 + xe^x sin^-1 y \cdot \log_2\left(_1\right) = ___"
WRITERS: Mapping[str, Callable[[Tree], str]] = {
    "sst": write_sst,
    "treebank": write_treebank,
    "brackets": write_unlabelled,
    "sexpr": write_sexpr,
    "infix": write_infix,
}
FILES = {
    ".tsv": "id\ttree\tlabel\tsplit\n1\t(+ x y)\ta\ttrain\n2\t(- x (+ y z))\tb\ttest\n",
    ".jsonl": '{"tree": "sin(x)^2", "label": 1.5}\n{"tree": {"label": "f"}, "label": true, "id": "é"}\n',
    ".txt": "(3 (2 a) (4 b))\n(1 c)\n",
    ".conllu": CONLLU,
    ".py": TEXTS["python"],
}
PIECES = [
    *'()[]{}"\\,:;|#_=<>*^+-/.\t\n\r\0 0129eE',
    "nan",
    "-Infinity",
    "1e999999999",
    "\ud800",
    "\u2028",
    "²",
    "((((",
    "))))",
]


class Target(NamedTuple):
    """What is tried."""

    example: st.SearchStrategy[Any]
    run: Callable[[Any], bool]
    """Whether the example was taken; a refusal is ``False``, a defect an exception."""


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """``text`` with a few pieces cut out, doubled, moved or put in."""
    for _ in range(draw(st.integers(0, 4))):
        start, stop = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        piece = draw(st.sampled_from(PIECES) | st.text(max_size=3))
        text = draw(
            st.sampled_from(
                [
                    text[:start] + text[stop:],
                    text[:start] + piece + text[start:],
                    text[:stop] + text[start:stop] * draw(st.sampled_from([1, 2, 50])) + text[stop:],
                    text[stop:] + text[:start],
                ]
            )
        )
    return text


def flipped(data: bytes) -> st.SearchStrategy[bytes]:
    """``data`` with a bit flipped, cut short, or with bytes put in."""

    def flip(place: int, bit: int) -> bytes:
        return data[:place] + bytes([data[place] ^ (1 << bit)]) + data[place + 1 :]

    places = st.integers(0, len(data) - 1)
    return (
        st.builds(flip, places, st.integers(0, 7))
        | places.map(lambda stop: data[:stop])
        | st.builds(lambda place, more: data[:place] + more + data[place:], places, st.binary(min_size=1, max_size=9))
    )


def refuses(run: Callable[[], object]) -> bool:
    """Whether ``run`` raises ``ValueError`` with one line of less than a screen."""
    try:
        run()
    except ValueError as error:
        assert len(str(error)) < 4000, "a message of more than a screen"
        return True
    return False


def notation(name: str) -> Target:
    def run(text: str) -> bool:
        if refuses(lambda: NOTATIONS[name].read(text)):
            return False
        tree = NOTATIONS[name].read(text)
        if name in WRITERS:
            written: list[str] = []
            if not refuses(lambda: written.append(WRITERS[name](tree))):
                assert NOTATIONS[name].read(written[0]) == tree, f"written as {written[0]!r}"
        return True

    return Target(mutated(TEXTS.get(name, NOTATIONS[name].example)), run)


def equation(text: str) -> bool:
    if refuses(lambda: read_equation(text)):
        return False
    found = read_equation(text)
    assert read_equation(write_equation(found)) == found
    return True


def typed(text: str) -> bool:
    if refuses(lambda: read_typed(text)):
        return False
    write_equation(read_typed(text).equation)
    write_latex_equation(read_typed(text).equation)
    return True


LEVELS = ("({})^6", "({})^2", "sqrt({})", "sin({})", "1/({})", "({} + 1)^3", "x*({})", "({})^({})^2")


@st.composite
def towers(draw: st.DrawFn) -> str:
    """An equation with a blank and many nested powers, of at most a million characters."""
    text = "x"
    for level in draw(st.lists(st.sampled_from(LEVELS), max_size=180)):
        if len(text) < 100_000:
            text = level.format(*[text] * level.count("{}"))
    return draw(st.sampled_from(["{} = x*_", "_ = {}", "{} + _ = x", "_^2 = {}"])).format(text)


def searched(text: str) -> bool:
    """A search keeps its seconds, whatever it is asked: 5 s of the processor are some hundred times as many."""
    if refuses(lambda: read_equation(text)):
        return False
    start, equation = time.process_time(), read_equation(text)
    refused = refuses(lambda: Completer(seconds=0.05).complete(equation))
    assert time.process_time() - start < 5, "a search goes on when its time is over"
    return not refused


def conllu(text: str) -> bool:
    found = [tree for _, _, tree in iter_conllu(text.splitlines())]
    return not any(isinstance(tree, ValueError) for tree in found)


def file(suffix: str) -> Target:
    def run(content: bytes) -> bool:
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder) / f"trees{suffix}"
            path.write_bytes(content)
            if refuses(lambda: TreeDataset.from_file(path, cached=False)):
                return False
            data = TreeDataset.from_file(path, cached=False)
            assert len(data) == len(data.labels) == len(data.lines) > 0
            return True

    text = mutated(FILES[suffix]).map(lambda text: text.encode("utf-8", "surrogatepass"))
    return Target(text | flipped(FILES[suffix].encode()), run)


@contextmanager
def small_files() -> Iterator[dict[str, tuple[bytes, Callable[[Path], object]]]]:
    """Name to the bytes of a whole file, and to what is read of a file like it."""
    with TemporaryDirectory() as folder:
        path = Path(folder)
        trees = [dgltree.read_infix(text) for text in ("sin(x) + 2", "x*y", "cos(y)")]
        vocabulary = Vocabulary.from_trees(trees)
        torch.manual_seed(0)
        cell = TreeSMU(vocabulary, 3, stack_size=2)
        dgltree.save(EquationModel(TreeEncoder(cell), EquationReadout()), path / "cell")
        memory = make_encoder("lstm", vocabulary, 4)
        dgltree.save(TreeModel(memory, ClassifierReadout(4, 2), ["a", "b"]), path / "encoder")
        WholeCheckpoints().save_checkpoint({"state_dict": dict(cell.state_dict()), "epoch": 3}, path / "checkpoint")

        def weights(model: Path) -> object:
            return {name: tensor.tolist() for name, tensor in dgltree.load(model).state_dict().items()}

        def checkpoint(of: Path) -> object:
            found = checked(of)
            return found["epoch"], {name: tensor.tolist() for name, tensor in found["state_dict"].items()}

        readers = {"cell": weights, "encoder": weights, "checkpoint": checkpoint}
        yield {name: ((path / name).read_bytes(), read) for name, read in readers.items()}


LONGEST = 1000
REPEATS = (0, 1, 7, 200)


def parquet() -> Target | None:
    """Parquet files of texts and of lists that are written once and repeated; their bytes flipped, too."""
    try:
        import pyarrow
        from pyarrow.parquet import write_table
    except ModuleNotFoundError:
        return None

    def written(values: list[tuple[str, int]], listed: bool, rows: int) -> bytes:
        trees = [text for text, times in values for _ in range(times)]
        column = pyarrow.array([trees[i : i + 3] for i in range(0, len(trees), 3)] if listed else trees)
        file = BytesIO()
        write_table(pyarrow.table({"tree": column}), file, row_group_size=rows, dictionary_pagesize_limit=5000)
        return file.getvalue()

    texts = st.sampled_from(["x + y", "x*y", "x" * 800, "x" * 1200, "", "(("])
    values = st.lists(st.tuples(texts, st.sampled_from(REPEATS)), min_size=1, max_size=4)
    files = st.builds(written, values, st.booleans(), st.sampled_from([50, 4000]))

    def run(content: bytes) -> bool:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trees.parquet"
            path.write_bytes(content)
            said: list[Any] = []
            if refuses(lambda: said.extend(pieces(path, "trees", ["tree"], LONGEST))):
                return False
            assert all(piece.size <= CHUNK + LONGEST + len(piece.records) for piece in said)
            rows = [row for piece in said for row in piece.records if row != TOO_LONG]
            assert all(len("".join(filter(None, row["tree"] or ""))) <= LONGEST for row in rows)
            return not refuses(lambda: TreeDataset.from_file(path, cached=False, max_line=LONGEST))

    return Target(files | files.flatmap(flipped), run)


def damaged(whole: bytes, read: Callable[[Path], object]) -> Target:
    """A file that is refused, or read as the whole one is."""

    def run(content: bytes) -> bool:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "file"
            path.write_bytes(whole)
            right = read(path)
            path.write_bytes(content)
            if refuses(lambda: read(path)):
                return False
            assert read(path) == right, "read as something else, without a word"
            return True

    return Target(flipped(whole), run)


def cached() -> Target:
    """A damaged cache is not believed."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trees.tsv"
        path.write_text(FILES[".tsv"], encoding="utf-8")
        expected = summary(TreeDataset.from_file(path))
        whole = cache_path(path).read_bytes()

    def run(content: bytes) -> bool:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trees.tsv"
            path.write_text(FILES[".tsv"], encoding="utf-8")
            cache_path(path).write_bytes(content)
            assert summary(TreeDataset.from_file(path)) == expected
            return content == whole

    return Target(flipped(whole), run)


def summary(data: TreeDataset) -> str:
    trees = [repr(data[i]) for i in range(len(data))]
    return json.dumps([trees, *map(list, (data.labels, data.splits, data.ids, data.lines))])


def vocabulary_and_batch(text: str) -> bool:
    """Whatever a reader gives can be batched, and comes back."""
    if refuses(lambda: dgltree.read_infix(text)):
        return False
    tree = dgltree.read_infix(text)
    assert dgltree.unbatch(batch([tree], Vocabulary.from_trees([tree]))) == [tree]
    return True


@contextmanager
def targets() -> Iterator[dict[str, Target]]:
    """All of them, by name."""
    with small_files() as files:
        yield {
            **{f"read {name}": notation(name) for name in NOTATIONS if name != "smiles" or find_spec("rdkit")},
            "read equation": Target(mutated("2*x - _ = sin(pi/2)^-1"), equation),
            "read typed": Target(mutated(TYPED), typed),
            "search nested powers": Target(towers(), searched),
            "read conllu": Target(mutated(CONLLU), conllu),
            "detect": Target(
                st.lists(st.sampled_from(list(TEXTS.values())).flatmap(mutated), max_size=5),
                lambda texts: not refuses(lambda: detect(texts)),
            ),
            "batch": Target(mutated(TEXTS["infix"]), vocabulary_and_batch),
            **{f"file {suffix}": file(suffix) for suffix in FILES},
            **({} if (of_parquet := parquet()) is None else {"file .parquet": of_parquet}),
            "cache": cached(),
            **{f"damaged {name}": damaged(*of) for name, of in files.items()},
            **{f"tampered {name}": Target(tampered(kind.content), answers(kind)) for name, kind in kinds().items()},
        }
