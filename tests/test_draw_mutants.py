"""scripts/draw_mutants draws changes that can be put into the code, the same ones for a seed."""

import ast
import csv
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def draw(seed: int) -> list[list[str]]:
    command = [
        sys.executable,
        "scripts/draw_mutants",
        "--seed",
        str(seed),
        "--count",
        "30",
        "--folders",
        "dgltree/trees",
    ]
    done = subprocess.run([*command, "dgltree/batching"], cwd=ROOT, capture_output=True, text=True, check=True)
    return list(csv.reader(done.stdout.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def test_each_change_can_be_put_into_the_code_once() -> None:
    header, *rows = draw(1)
    assert header == ["number", "path", "kind", "old", "new", "why it matters"]
    assert [int(row[0]) for row in rows] == list(range(1, 31)) and len({row[2] for row in rows}) > 6
    for _, path, _, *texts, _ in rows:
        old, new = (text.replace("\\n", "\n").replace("\\\\", "\\") for text in texts)
        source = (ROOT / path).read_text(encoding="utf-8")
        assert source.count(old) == 1 and old != new
        assert ast.dump(ast.parse(source.replace(old, new))) != ast.dump(ast.parse(source))
    assert draw(1) == [header, *rows] != draw(2)
