"""A file in another notation than that of the model is refused in one line, whichever command reads it."""

from pathlib import Path

import pytest

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

TREES = {
    "sexpr": "(add x{i} (mul y z))",
    "infix": "x{i} + y*z",
    "json_object": '{{"kind": "add", "first": "x{i}", "second": {{"kind": "mul"}}}}',
}
COMMANDS = ("predict", "encode", "evaluate", "explain")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each notation, and files with the trees of each."""
    place = tmp_path_factory.mktemp("notations")
    for name, tree in TREES.items():
        rows = [f"{tree.format(i=i % 20)}\t{'ab'[i % 2]}" for i in range(150)]
        (place / f"{name}.tsv").write_text("\n".join(["tree\tlabel", *rows, ""]))
        (place / f"{name}.lines").write_text("".join(f"{tree.format(i=i)}\n" for i in range(150)))
        arguments = ["--notation", name, "--epochs", "1", "--hidden-size", "4", "--no-baseline", "--no-cache"]
        assert main(["fit", str(place / f"{name}.tsv"), *arguments, "--out", str(place / name)]) == 0
    return place


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("other", TREES)
@pytest.mark.parametrize("name", TREES)
def test_another_notation_is_one_line(
    name: str, other: str, command: str, models: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if name == other:
        return
    further = ["--out", str(tmp_path / "vectors.npy")] if command == "encode" else []
    for suffix in ("tsv", "lines")[: 1 if command == "evaluate" else 2]:
        file = models / f"{other}.{suffix}"
        capsys.readouterr()
        assert main([command, str(models / name), str(file), *further]) == 1
        out, err = capsys.readouterr()
        assert (out, err) == (
            "",
            f"dgltree: {file}: the model or --notation expects {name}; these trees look like {other}\n",
        )


def test_fit_refuses_a_notation_that_reads_no_tree(models: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["fit", str(models / "infix.tsv"), "--notation", "sexpr", "--no-cache"]) == 1
    assert capsys.readouterr().err == (
        f"dgltree: {models / 'infix.tsv'}: the model or --notation expects sexpr; these trees look like infix\n"
    )


def test_a_file_of_which_some_trees_can_be_read_is_answered(
    models: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "mixed.tsv").write_text("\n".join(["tree", *["x + y"] * 9, "(add x y)", ""]))
    assert main(["predict", str(models / "sexpr"), str(tmp_path / "mixed.tsv")]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 11
