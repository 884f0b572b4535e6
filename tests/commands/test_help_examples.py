"""Every example of every ``--help`` runs, on small files of the names that it has."""

import io
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from own_trees import QUIET

from dgltree.commands.main import COMMANDS, main

pytest.importorskip("lightning", reason="the train extra is not installed")
pytest.importorskip("pyarrow", reason="the train extra is not installed")

pytestmark = QUIET
QUICK = {
    "fit": ["--epochs", "1", "--hidden-size", "16", "--baseline", "fast"],
    "compare": ["--epochs", "1", "--seeds", "1"],
    "embed": ["--epochs", "1", "--hidden-size", "8"],
}
"""Appended to examples that train: the last of two values counts."""
NOT_RUN = {
    "--ray": "a cluster of Ray answers it (tests/scale)",
    "dgltree export": "torch takes ten seconds to trace a model (tests/exporting)",
    "dgltree probe": "it trains on eight sets (tests/commands/test_probe.py)",
    "dgltree explore": "it serves a page until it is stopped (tests/explore)",
    "--devices 4": "it trains in four processes (tests/training/test_processes.py)",
}
"""By a part of an example why it does not run here; its command line is checked."""


def helped(name: str) -> Iterator[str]:
    """The examples of a command's help, without what explains them."""
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit):
        main([name, "--help"] if name else ["--help"])
    block = out.getvalue().partition("\nexamples:\n")[2]
    for line in re.findall(r"^  ((?:dgltree|cat|echo) .*)$", block, re.MULTILINE):
        yield re.split(r"   +", line.partition("  #")[0])[0].strip()


EXAMPLES = list(dict.fromkeys(example for name in ("", *COMMANDS) for example in helped(name)))


def test_every_command_has_examples() -> None:
    assert {example.split("dgltree ")[1].split()[0] for example in EXAMPLES} == {*COMMANDS}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files that the examples name, and the models."""
    folder = tmp_path_factory.mktemp("examples")
    terms = [(f, g, a, b) for f in ("add", "mul", "sub") for g in ("add", "mul") for a in "xyz" for b in "uvw"]
    texts = [f"({f} {a} ({g} y {b}))" for f, g, a, b in terms]
    later = [f"({f} ({g} {a} y) {b})" for f, g, a, b in terms]
    rows = [(text, text[1:4], f"2026-0{1 + i % 6}-11", i) for i, text in enumerate(texts * 2)]
    fresh = [(text, text[1:4], "2026-06-11", 1000 + i) for i, text in enumerate(later)]
    tables = {"trees": ("label", rows), "new": ("label", rows), "test": ("class", rows), "june": ("label", fresh)}
    for name, (label, found) in tables.items():
        lines = [f"{tree}\t{kind}\t{day}\t{i}" for tree, kind, day, i in found]
        (folder / f"{name}.tsv").write_text("\n".join([f"tree\t{label}\tcreated\tid", *lines, ""]))
    records = [{"tree": tree, "label": kind, "created": day} for tree, kind, day, _ in rows]
    (folder / "june.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    pairs = [{"left": texts[i], "right": texts[-i], "label": "ab"[i % 2]} for i in range(40)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    orders = [{"tree": {"items": [{"price": i + 0.5}]}, "label": "ab"[i % 2]} for i in range(40)]
    (folder / "orders.jsonl").write_text("".join(json.dumps(order) + "\n" for order in orders))
    (folder / "trees.txt").write_text("".join(f"{text}\n" for text in texts))
    for name in ("train", "dev", "test"):
        (folder / f"{name}.txt").write_text("(3 (2 a) (4 (2 very) (4 good)))\n(1 (2 a) (0 bad))\n" * 20)
    for k in range(60):
        names = [f"{('get', 'put')[k % 2]}_{k}_{i}" for i in range(4)]
        module = folder / "sources" / ("reading", "writing")[k % 2] / f"module{k}.py"
        module.parent.mkdir(parents=True, exist_ok=True)
        module.write_text("\n\n".join(f"def {name}(x, y):\n    x.y = y + {k}\n    return x\n" for name in names))
    words = "1\tThe\tthe\tDET\t_\t_\t2\tdet\t_\t_\n2\tman\tman\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    (folder / "treebank.conllu").write_text(words * 5)
    (folder / "sentences.txt").write_text("the old man the boats\na cat sees the dog\nthe dog barks\n" * 10)
    (folder / "equations.txt").write_text("x + _ = 3x\nx^2 - 1 = (x - 1)_\n")
    (folder / "answers.txt").write_text("x\nabs(x)\n")
    question = '"x^2 = 4, x = _"'
    (folder / "answers.csv").write_text(f'q,a,pupil,answer\n{question},2,p1,2\n{question},"2, -2",p2,"2, -2"\n')
    own = "from dgltree.cells import TreeRNN\n\n\nclass TreeGRU(TreeRNN):\n    pass\n"
    (folder / "my_cells.py").write_text(own)
    sample = io.StringIO()
    with redirect_stdout(sample):
        assert main(["sample"]) == 0
    (folder / "lists.tsv").write_text(sample.getvalue())
    _make_models(folder, records)
    return folder


def _make_models(folder: Path, records: list[dict[str, Any]]) -> None:
    import pyarrow
    from pyarrow.parquet import write_table

    from dgltree import Vocabulary
    from dgltree.models.language_model import LanguageModel, save_language_model

    for name in ("trees", "test", "equations"):
        write_table(pyarrow.Table.from_pylist(records), folder / f"{name}.parquet")
    words = Vocabulary((), ["<eos>", "<unk>", "the", "old"], unk=True)
    save_language_model(LanguageModel(words, "on_lstm", (4, 4), {"chunk_size": 2}), folder / "model.safetensors")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in ("trees", "may", "june"):
            seed = str(["trees", "may", "june"].index(name))
            assert main(["fit", "trees.tsv", *QUICK["fit"], "--seed", seed, "--out", f"runs/{name}"]) == 0
        assert main(["embed", "trees.tsv", *QUICK["embed"], "--out", "runs/vectors"]) == 0


@pytest.mark.usefixtures("cells_as_before")
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_of_a_help_text_runs(
    example: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "here"
    shutil.copytree(place, folder)
    monkeypatch.chdir(folder)
    if " embed " in example:  # its folder holds another training
        shutil.rmtree(folder / "runs" / "vectors")
    if " verify " in example:
        (folder / "equations.txt").write_text("x + 2x = 3x\n")
    before, _, command = example.rpartition(" | ")
    if before:
        first, *rest = shlex.split(before)
        text = Path(rest[0]).read_text() if first == "cat" else " ".join(rest) + "\n"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8"))
    arguments = shlex.split(command)[1:]
    if ">" in arguments:
        arguments = arguments[: arguments.index(">")]
    if any(part in example for part in NOT_RUN):
        module = import_module(f"dgltree.commands.{COMMANDS[arguments[0]][0]}")
        if "tree_smu.checkpoint" not in example:  # a file of a task
            assert module.prepare(arguments[0], arguments[1:]) is not None
        return
    quick = QUICK.get(arguments[0], [])
    assert main([*arguments, *quick]) == 0, capsys.readouterr().err
    out, err = capsys.readouterr()
    assert out or any(folder.rglob("*")), err
