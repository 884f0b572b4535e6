"""A folder of ``fit`` or ``embed`` with a file lost, exchanged for that of another model, or cut, at a drawn place.

A command answers as with the whole folder, or refuses in one line. ``scripts/fuzz --only folders`` draws the damage.
"""

import io
import random
import shutil
import uuid
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from fuzzing import SlowTarget
from own_trees import SMALL, table

from dgltree.commands.main import main

ASKED = {
    "classes": (["predict"], ["evaluate"], ["encode"], ["similar", "--query", "x+y"], ["explain"]),
    "vectors": (["encode"], ["similar", "--query", "x+y"]),
}
"""What is asked of a folder, by the kind of its model."""
DAMAGES = ("lost", "exchanged", "cut", "empty", "a folder")


class Folders(NamedTuple):
    """Two models of each kind, with the same files and other contents, and trees to ask about."""

    place: Path
    trees: Path
    kept: "TemporaryDirectory[str]"

    def of(self, kind: str, number: int) -> Path:
        return self.place / f"{kind}-{number}"


class Damage(NamedTuple):
    """What is tried."""

    kind: str
    file: int
    """The number of the file, of as many as there are."""
    change: str
    share: float
    """Where it is cut."""


@lru_cache(maxsize=1)
def folders() -> Folders:
    """Those of this process."""
    kept: TemporaryDirectory[str] = TemporaryDirectory()
    place = Path(kept.name)
    trees = place / "trees.tsv"
    for number in (0, 1):
        trees.write_text(table(100, seed=number), encoding="utf-8")
        for command, kind in (("fit", "classes"), ("embed", "vectors")):
            arguments = [command, str(trees), "--out", str(place / f"{kind}-{number}"), *SMALL[:2], "--epochs", "1"]
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                assert main([*arguments, "--seed", str(number)]) == 0
    return Folders(place, trees, kept)


def asked(folder: Path, arguments: list[str]) -> tuple[int, str, str]:
    """The exit code of a command, its output or the vectors that it wrote, and its errors."""
    trees, out = folders().trees, folder / "asked.npy"
    command = [arguments[0], str(folder)]
    command += ["x+y"] if arguments[0] == "explain" else [str(trees), *arguments[1:]]
    command += ["--out", str(out)] if arguments[0] == "encode" else []
    said, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(errors), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = main(command)
    answer = out.read_bytes().hex() if out.exists() else said.getvalue()
    out.unlink(missing_ok=True)
    return code, "\n".join(line for line in answer.splitlines() if " s, " not in line), errors.getvalue()


@lru_cache(maxsize=64)
def _whole(kind: str, arguments: tuple[str, ...]) -> str:
    code, answer, errors = asked(folders().of(kind, 0), list(arguments))
    assert code == 0, errors
    return answer.replace(str(folders().of(kind, 0)), "FOLDER")


def damaged(example: Damage) -> bool:
    """Whether all commands answer as with the whole folder; anything but that or a refusal is a defect."""
    one, two = (folders().of(example.kind, number) for number in (0, 1))
    copy = folders().place / uuid.uuid4().hex
    shutil.copytree(one, copy)
    try:
        names = sorted(path.name for path in one.iterdir())
        name = names[example.file % len(names)]
        place = copy / name
        if example.change == "exchanged":
            shutil.copy(two / name, place)
        elif example.change == "lost":
            place.unlink()
        elif example.change == "a folder":
            place.unlink()
            place.mkdir()
        else:
            content = place.read_bytes()
            place.write_bytes(content[: int(example.share * len(content))] if example.change == "cut" else b"")
        refusals = 0
        for arguments in ASKED[example.kind]:
            code, answer, errors = asked(copy, arguments)
            if code:
                refusals += 1
                lines = [line for line in errors.splitlines() if line.startswith("dgltree")]
                assert len(lines) == 1, f"{name} {example.change}: {arguments}: {errors}"
                assert "Traceback" not in errors
            else:
                same = answer.replace(str(copy), "FOLDER") == _whole(example.kind, tuple(arguments))
                assert same, f"{name} {example.change}: {arguments[0]} answers something else"
        return not refusals
    finally:
        shutil.rmtree(copy)


def _drawn(draw: random.Random) -> Damage:
    return Damage(draw.choice(list(ASKED)), draw.randrange(60), draw.choice(DAMAGES), draw.random())


def folder_targets() -> dict[str, SlowTarget]:
    """By name."""
    return {"folders": SlowTarget(_drawn, damaged)}
