"""Icons in SVG, which mkdocs-material brings: filled or an outline."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.sets.records import LabelledRecord

OUTLINE = "-outline"
MOST_NODES = 90


def icons() -> Iterator[LabelledRecord]:
    """Paths as commands of numbers, of icons that are there in both kinds; what has one name is a group."""
    found = importlib.util.find_spec("material")
    if found is None or found.origin is None:
        raise ValueError("the package mkdocs-material is not installed; the extra docs brings it")
    folder = Path(found.origin).parent / "templates" / ".icons" / "material"
    for outline in sorted(folder.glob(f"*{OUTLINE}.svg")):
        filled = outline.with_name(outline.name.replace(OUTLINE, ""))
        for label, file in (("filled", filled), ("outline", outline)):
            if file.exists():
                paths = re.findall(' d="([^"]*)"', file.read_text(encoding="utf-8"))
                tree = f"(svg {' '.join(map(_path, paths))})"
                if len(tree.split()) <= MOST_NODES:
                    yield LabelledRecord(label, (tree,), filled.stem)


def _path(text: str) -> str:
    """``M12 4a4 4 0`` is (path (M 12 4) (a 4 4 0))."""
    commands = re.findall("([A-Za-z])([^A-Za-z]*)", text)
    numbers = [(name, " ".join(re.findall(r"-?(?:\d+\.?\d*|\.\d+)", rest))) for name, rest in commands]
    return f"(path {' '.join(f'({name} {of})' if of else name for name, of in numbers)})"
