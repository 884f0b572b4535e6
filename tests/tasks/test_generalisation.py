"""Who generalises: the table of docs/results.md is that of its evidence, and the evidence that of its pages."""

import json
import re
from pathlib import Path

import pytest

from tasks import generalisation
from tasks.generalisation import EvidenceLine, lines_of, main, merge, read_lines, render

ROOT = Path(__file__).parents[2]
DOCUMENTED = [line for line in read_lines() if line.accuracy]


def finish(folder: Path, longer: float, seconds: float) -> None:
    """A folder as a training leaves it."""
    folder.mkdir(parents=True)
    (folder / "card.json").write_text(json.dumps({"test": {"accuracy": 0.5, "longer": {"accuracy": longer}}}))
    (folder / "epochs.jsonl").write_text("".join(json.dumps({"epoch": k, "seconds": seconds}) + "\n" for k in range(2)))


def test_the_page_has_the_table() -> None:
    assert "\n".join(render(read_lines())) in (ROOT / "docs" / "results.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", DOCUMENTED, ids=lambda line: f"{line.test}-{line.network}")
def test_a_figure_stands_on_the_page_that_is_named(line: EvidenceLine) -> None:
    page, _, heading = line.page.partition("#")
    text = (ROOT / page).read_text(encoding="utf-8").replace("\n".join(render(read_lines())), "")
    headings = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in re.findall("^#+ (.*)", text, re.M)]
    assert heading in headings
    assert re.search(rf"\b{re.escape(line.accuracy)}\b", text), line.accuracy


def test_no_network_has_two_lines_for_a_test() -> None:
    lines = read_lines()
    assert len({(line.test, line.network) for line in lines}) == len(lines)


def test_trainings_take_the_place_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    evidence = tmp_path / "evidence.tsv"
    monkeypatch.setattr(generalisation, "EVIDENCE", evidence)
    old = EvidenceLine("lookup_forward", "lstm", "12.0", "", "1", "9", "100", "page")
    other = EvidenceLine("logic", "lstm", "52.5", "", "1", "0.3", "69", "page")
    generalisation.write_lines([other, old])
    monkeypatch.setattr(
        generalisation, "read_results", lambda folder: {"longer": {"0": 0.9, "1": 0.8}[folder.name[-1]]}
    )
    for seed in range(2):
        finish(tmp_path / "out" / "forward" / f"lstm-{seed}", 0, 900)
    main(["--runs", str(tmp_path / "out"), "--task", "lookup"])
    assert "| LSTM | 85.0±7.1 (100), 2 seeds, 0.5 h |" in capsys.readouterr().out
    assert read_lines()[1] == other


def test_a_folder_without_trainings_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--runs", str(tmp_path), "--task", "lookup"], ["--task", "lookup"]):
        with pytest.raises(SystemExit):
            main(arguments)
    assert "has no finished training" in capsys.readouterr().err
    assert lines_of("lookup", tmp_path) == []


def test_published_figures_stay() -> None:
    before = [EvidenceLine("logic", "lstm", "", "", "", "", "69", "page")]
    [line] = merge(before, [EvidenceLine("logic", "lstm", "50.0", "", "1", "0.1", "", "other")])
    assert (line.published, line.accuracy) == ("69", "50.0")
