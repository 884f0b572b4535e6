"""The completion for bash that docs/howto/faq.md gives."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "faq.md").read_text(encoding="utf-8")
[SCRIPT] = re.findall(r"```bash\n(_dgltree.*?)```", PAGE, re.DOTALL)


def turkish_locale(folder: Path) -> dict[str, str]:
    """An environment in which i is not between a and z; none where the locale cannot be made."""
    made = ["localedef", "--no-archive", "-i", "tr_TR", "-f", "UTF-8", str(folder / "tr_TR.UTF-8")]
    if shutil.which("localedef") is None or subprocess.run(made, capture_output=True, check=False).returncode:
        return {}
    return {"LOCPATH": str(folder), "LC_ALL": "tr_TR.UTF-8"}


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (["dgltree", "ex"], ["explain", "explore", "export"]),
        (["dgltree", "check", "--f"], ["--form"]),
        (["dgltree", "nothing", "--f"], []),
    ],
)
def test_bash_completes_commands_and_options(typed: list[str], wanted: list[str], tmp_path: Path) -> None:
    command = tmp_path / "dgltree"
    run = f"PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m dgltree"
    command.write_text(f'#!/bin/sh\n{run} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    words = " ".join(f"'{word}'" for word in typed)
    where = turkish_locale(tmp_path)
    asked = f"COMP_WORDS=({words}); COMP_CWORD={len(typed) - 1}; _dgltree"
    program = f'PATH={tmp_path}:$PATH\n{SCRIPT}\n{asked}\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    for environment in ({}, where):
        done = subprocess.run(
            ["bash", "-c", program], capture_output=True, text=True, check=True, timeout=120,
            env={**os.environ, **environment},
        )  # fmt: skip
        assert sorted({*done.stdout.split()}) == wanted
