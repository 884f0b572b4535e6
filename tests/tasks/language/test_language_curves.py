"""Curves of language models on the command line."""

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the plot extra is not installed")
pytest.importorskip("lightning", reason="the train extra is not installed")

from tasks.language.__main__ import main
from tasks.language.curves import read_runs


def write_run(folder: Path, *epochs: dict[str, float]) -> Path:
    folder.mkdir()
    rows = [json.dumps({"epoch": number, **row}) for number, row in enumerate(epochs)]
    (folder / "epochs.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def test_seeds_are_one_line_and_layers_lines_of_their_own(tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / "small-0", {"perplexity": 90.0, "f1_layer_1": 30.0}, {"perplexity": 80.0}),
        write_run(tmp_path / "small-1", {"perplexity": 94.0, "f1_layer_1": 20.0}),
        write_run(tmp_path / "lstm", {"perplexity": 70.0}),
    ]
    perplexity, f1 = read_runs(runs)
    assert perplexity == {"small": {0: [90.0, 94.0], 1: [80.0]}, "lstm": {0: [70.0]}}
    assert f1 == {"small, layer 1": {0: [30.0, 20.0]}}
    main(["curves", *map(str, runs), "--out", str(tmp_path / "picture")])
    assert {file.suffix for file in tmp_path.glob("picture.*")} == {".png", ".svg"}


def test_a_folder_of_no_language_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    other = write_run(tmp_path / "other", {"accuracy": 0.5})
    with pytest.raises(SystemExit, match=r"empty: no epochs\.jsonl; expected the folder of a training"):
        main(["curves", str(tmp_path / "empty"), "--out", "x"])
    with pytest.raises(SystemExit, match="no perplexity; expected the epochs of a language model"):
        main(["curves", str(other), "--out", "x"])
