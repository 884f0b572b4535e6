"""Files of other programs have as many nodes as readers of their own count (the table in real_files.md)."""

import re
from pathlib import Path

import pytest
from real_files import FILES, RealFile

LARGE = ("ewt-train.conllu", "first_5K.smi", "bace.csv", "treebank_sample", "CHEMBL2321810.smi")
PAGE = Path(__file__).with_name("real_files.md")


@pytest.mark.filterwarnings("ignore:.*removed in Python 3.14:DeprecationWarning")  # of ast2json
@pytest.mark.parametrize(
    "file",
    [pytest.param(file, id=file.path, marks=[pytest.mark.slow] * file.path.endswith(LARGE)) for file in FILES],
)
def test_a_file_has_the_nodes_that_its_peer_counts(file: RealFile) -> None:
    path = file.located()
    if path is None:
        pytest.skip(f"{file.path} is not here")
    try:
        there = file.count(path)
    except ModuleNotFoundError as error:
        pytest.skip(f"its reader is not installed: {error}")
    data, ours = file.counted(path)
    lost = there - ours
    assert lost == (4 if file.path == "evalb/sample.tst" else 0)
    assert bool(data.bad) == ("(reported)" in file.left_out)


def test_the_page_has_a_row_for_each() -> None:
    rows = re.findall(r"^\| ([^|]+/[^|]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [file.path if file.place == "data" else f"{file.place}/{file.path}" for file in FILES]
    assert len(rows) >= 30
    assert len({file.made_by for file in FILES}) >= 10
