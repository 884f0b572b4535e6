"""Where the files of models are: those that come with the package, by name, and the user's own."""

from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files("dgltree"))) / "data"
LOGIC, LISTOPS = "logic.safetensors", "listops.safetensors"
"""The shipped models that read sequences."""


def model_names() -> list[str]:
    """The shipped models of equations."""
    return sorted(path.stem for path in FOLDER.glob("*.safetensors") if path.name not in (LOGIC, LISTOPS))


def model_file(name_or_file: str | Path) -> Path:
    """Where the weights of a model are; ``FileNotFoundError`` if there are none."""
    path = Path(name_or_file)
    if str(name_or_file) in model_names():
        path = FOLDER / f"{name_or_file}.safetensors"
    if not path.is_file():
        names = ", ".join(model_names()) or "none"
        raise FileNotFoundError(f"{name_or_file}: no such file, and no shipped model of that name (there is: {names})")
    return path
