"""scripts/mutants draws changes that can be put into the code, the same ones for a seed, and reads its table."""

import ast
import csv
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "mutants"


def draw(seed: int) -> list[list[str]]:
    folders = ("--folders", "dgltree/trees", "dgltree/batching")
    command = [sys.executable, str(SCRIPT), "draw", "--seed", str(seed), "--count", "30", *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return list(csv.reader(done.stdout.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.slow
def test_each_change_can_be_put_into_the_code_once() -> None:
    header, *rows = draw(1)
    assert header == ["path", "kind", "old", "new", "why it matters"]
    assert len(rows) == 30 and len({row[1] for row in rows}) > 6
    for path, _, *texts, _ in rows:
        old, new = (text.replace("\\n", "\n").replace("\\\\", "\\") for text in texts)
        source = (ROOT / path).read_text(encoding="utf-8")
        assert source.count(old) == 1 and old != new
        assert ast.dump(ast.parse(source.replace(old, new))) != ast.dump(ast.parse(source))
    assert draw(1) == [header, *rows] != draw(2)


def test_a_mistake_of_the_table_is_put_into_the_code_and_one_whose_text_is_gone_is_stale(tmp_path: Path) -> None:
    script = runpy.run_path(str(SCRIPT))
    mutants = script["read_list"](ROOT / "tests" / "mutants.tsv")
    assert len(mutants) > 300
    assert len(script["read_list"](ROOT / "tests" / "mutants_sixty.tsv")) == 60
    mutant = next(one for one in mutants if (ROOT / one.path).read_text(encoding="utf-8").count(one.old) == 1)
    file = tmp_path / mutant.path
    file.parent.mkdir(parents=True)
    file.write_text((ROOT / mutant.path).read_text(encoding="utf-8"), encoding="utf-8")
    lines = mutant.put_into(tmp_path)
    assert mutant.new in file.read_text(encoding="utf-8") and lines
    with pytest.raises(ValueError, match="has the old text 0 times"):
        mutant._replace(path="dgltree/gone.py").put_into(tmp_path)
