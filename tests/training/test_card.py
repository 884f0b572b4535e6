"""What stands beside a model for people."""

import json
import re
from pathlib import Path

import pytest
from own_trees import QUIET, SMALL, written

from dgltree.commands.main import main

pytest.importorskip("lightning", reason="the train extra is not installed")

pytestmark = QUIET


def test_classes_and_the_command_are_shown_as_they_are(tmp_path: Path) -> None:
    classes = ["<b>bold</b>", "*a*", "`c`", "[x](y)", "a|b", "&lt;"]
    rows = [f"x{'+y' * i}\t{classes[i % 6]}" for i in range(120)]
    path = written(tmp_path, "a`b.tsv", "tree\tlabel\n" + "\n".join(rows) + "\n")
    assert main(["fit", str(path), "--out", str(tmp_path / "model"), *SMALL, "--epochs", "1"]) == 0
    card = (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    [line] = re.findall("^- Classes: (.*)$", card, re.MULTILINE)
    shown = r"\&lt;, \*a\*, \<b\>bold\</b\>, \[x\]\(y\), \`c\`, a\|b"
    assert sorted(line.split(", ")) == sorted(shown.split(", "))
    assert re.search(r"by `` dgltree fit '.*a`b.tsv' .* `` in", card)
    json.loads((tmp_path / "model" / "card.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
