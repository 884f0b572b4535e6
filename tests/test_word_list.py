"""Pages, docstrings, comments and messages avoid the words of scripts/words.tsv."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS = [sys.executable, str(ROOT / "scripts" / "words")]


def lines(*arguments: str | Path) -> list[str]:
    done = subprocess.run([*WORDS, "--lines", *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_no_page_docstring_comment_or_message_has_a_word_to_avoid() -> None:
    assert lines() == []


def test_words_are_found_in_pages_and_programs_but_not_in_their_code(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("Results stand here.\n\n`stands`, it stands for x.\n\n```\nbeside\n```\nAnew.\n")
    (tmp_path / "program.py").write_text(
        '"""Figures, a line each.\n\n``figures`` told apart."""\nbeside = 1  # besides\n'
    )
    (tmp_path / "page.js").write_text(
        'const told = h("p", "figures"); // drawn anew\nfill(h("A point each", figure));\n'
    )
    found = [line.removeprefix(f"{tmp_path}/") for line in lines(tmp_path)]
    assert found == [
        "page.js:1: anew: // drawn anew",
        "page.md:1: stands?(?! for)(?! in for): Results stand here.",
        "page.md:8: anew: Anew.",
        'program.py:1: (?<!matplotlib )figures?: """Figures, a line each.',
        "program.py:4: besides?: # besides",
    ]


def test_the_docstring_of_a_module_begins_with_a_noun_or_a_verb() -> None:
    files = [path for folder in ("dgltree", "tasks", "scripts", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    assert [path for path in files if path.read_text(encoding="utf-8").startswith('"""What')] == []


NOT_YET = ("dgltree/engine/", "dgltree/ranking/", "benchmarks/")
"""Where docstrings of functions and classes may still begin so."""


def test_no_docstring_begins_with_what() -> None:
    files = [path for folder in ("dgltree", "tasks", "scripts") for path in (ROOT / folder).rglob("*.py")]
    names = [str(path.relative_to(ROOT)) for path in files if '"""What ' in path.read_text(encoding="utf-8")]
    assert [name for name in names if not name.startswith(NOT_YET)] == []
