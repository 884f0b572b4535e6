"""Hostile files: the bytes of data sets, models, caches and checkpoints."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from fuzzing import Target, flipped, mutated, refuses
from hostile_texts import CONLLU, TEXTS
from hypothesis import strategies as st

import dgltree
from dgltree import TreeDataset, Vocabulary
from dgltree.cells import TreeSMU
from dgltree.datasets import label_numbers
from dgltree.datasets.formats.parquet import pieces
from dgltree.datasets.formats.source import CHUNK, TOO_LONG
from dgltree.datasets.labels import select_labelled, unify_labels
from dgltree.datasets.loading.from_file import cache_path
from dgltree.datasets.settings import key_of
from dgltree.datasets.splitting import count_contradicted
from dgltree.encoders import TreeEncoder, make_encoder
from dgltree.models import ClassifierReadout, EquationModel, EquationReadout, TreeModel
from dgltree.training.stepping.callbacks import WholeCheckpoints, check_checkpoint

FILES = {
    ".tsv": "id\ttree\tlabel\tsplit\n1\t(+ x y)\ta\ttrain\n2\t(- x (+ y z))\tb\ttest\n",
    ".jsonl": '{"tree": "sin(x)^2", "label": 1.5}\n{"tree": {"label": "f"}, "label": true, "id": "é"}\n',
    ".txt": "(3 (2 a) (4 b))\n(1 c)\n",
    ".conllu": CONLLU,
    ".py": TEXTS["python"],
    ".json": TEXTS["estree"],
    ".xml": TEXTS["xml"],
    ".mrg": "( (S\n    (NP (DT The) (NN cat))\n\n    (VP (VBZ sleeps))) )\n\n(S (NP a))\n",
    ".csv": 'tree,label\nx+y,0\nx*y,0.0\nx,1.5\ny,NA\nz,"1,5"\nx+y, pos\nx-y,True\nx/y,e\u0301\n',
}


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
            labels_of(data)
            return True

    text = mutated(FILES[suffix]).map(lambda text: text.encode("utf-8", "surrogatepass"))
    return Target(text | flipped(FILES[suffix].encode()), run)


def labels_of(data: TreeDataset) -> None:
    """Every label is missing or a class, and each class is told apart from the others."""
    kept, bad = select_labelled(data, numbers=False)
    assert (0 if kept is None else len(kept)) + len(bad) == len(data)
    if kept is None:
        return
    one, _ = unify_labels({"train": kept}, ())
    classes = sorted({str(label) for label in one["train"].labels})
    assert len({*map(key_of, classes)}) == len(classes)
    assert (label_numbers(one["train"].labels, classes) >= 0).all()
    assert torch.equal(label_numbers(kept.labels, classes), label_numbers(one["train"].labels, classes))
    assert count_contradicted(data) >= count_contradicted(one["train"])


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
            found = check_checkpoint(of)
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

    return Target(st.just(whole) | flipped(whole), run)


SOURCES = [FILES[".tsv"], FILES[".tsv"].replace("x y", "y x"), FILES[".tsv"].replace("train", "test")]


def damaged_cache() -> Target:
    """A cache is believed where it is whole and of this very file, and of no other."""
    kept = {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trees.tsv"
        for text in SOURCES:
            path.write_text(text, encoding="utf-8")
            whole = summary(TreeDataset.from_file(path))
            kept[text] = cache_path(path).read_bytes(), whole
    caches = [content for content, _ in kept.values()]

    def run(example: tuple[str, bytes]) -> bool:
        text, content = example
        with TemporaryDirectory() as folder:
            path = Path(folder) / "trees.tsv"
            path.write_text(text, encoding="utf-8")
            cache_path(path).write_bytes(content)
            before = identity(cache_path(path))
            assert summary(TreeDataset.from_file(path)) == kept[text][1]
            believed = before == identity(cache_path(path))
            assert believed == (content == kept[text][0]), "another cache was believed, or the right one was not"
            return believed

    contents = st.sampled_from(caches) | st.sampled_from(caches).flatmap(flipped)
    return Target(st.tuples(st.sampled_from(SOURCES), contents), run)


def with_suffix(suffix: str) -> st.SearchStrategy[tuple[str, str]]:
    return st.tuples(st.just(suffix), mutated(FILES[suffix]))


def identity(path: Path) -> tuple[int, int]:
    """What a file that replaces another does not share with it."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def cached(example: tuple[str, str]) -> bool:
    """What a cache holds is what was read."""
    suffix, text = example
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"trees{suffix}"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if refuses(lambda: TreeDataset.from_file(path)):
            assert not cache_path(path).exists()
            return False
        before = identity(cache_path(path))
        found = summary(TreeDataset.from_file(path))
        assert before == identity(cache_path(path)), "the cache was not believed"
        assert found == summary(TreeDataset.from_file(path, cached=False))
        return True


def summary(data: TreeDataset) -> str:
    trees = [repr(data[i]) for i in range(len(data))]
    return json.dumps([trees, data.bad, *map(list, (data.labels, data.splits, data.ids, data.lines))])


@contextmanager
def file_targets() -> Iterator[dict[str, Target]]:
    """By name."""
    with small_files() as files:
        yield {
            **{f"file {suffix}": file(suffix) for suffix in FILES},
            **({} if (of_parquet := parquet()) is None else {"file .parquet": of_parquet}),
            "cache": Target(st.sampled_from(list(FILES)).flatmap(with_suffix), cached),
            "damaged cache": damaged_cache(),
            **{f"damaged {name}": damaged(*of) for name, of in files.items()},
        }
