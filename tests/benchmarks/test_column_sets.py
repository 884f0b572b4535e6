"""The draw of ``python -m benchmarks.sets.columns``, and its table on few of it."""

import pytest

from benchmarks.sets import columns


def test_labels_need_the_tree_and_both_columns() -> None:
    trees, beside, classes = columns.drawn(300, 0, "class")
    assert (trees, beside) == columns.drawn(300, 0, "number")[:2] != columns.drawn(300, 1, "number")[:2]
    numbers = columns.drawn(300, 0, "number")[2]
    for tree, limit, site, label, number in zip(trees, beside["limit"], beside["site"], classes, numbers, strict=True):
        text = str(
            tree.fold(
                lambda node, children: (
                    children[0] + children[1] if node.function == "Add" else columns.value(node, children)
                )
            )
        )
        above = float(text) - float(limit)
        assert label == ("yes" if (above > 0) == (site == "north") else "no")
        assert float(number) == pytest.approx(above * {"north": 1, "south": 2}[site], abs=1e-5)


@pytest.mark.slow
def test_the_table_has_a_row_for_each_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(columns, "NUM_EXAMPLES", 200)
    monkeypatch.setattr(columns, "SEEDS", (0,))
    assert columns.main([]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[0] for row in rows[2:]] == [
        "| tree and columns",
        "| boosted trees of counts and columns",
        "| tree alone",
        "| columns alone",
    ]
