"""Files that say what a folder is of, so that two runs are never mixed."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dgltree.files import replacing


def claim(file: Path, own: Mapping[str, Any]) -> None:
    """Say in ``file`` what its folder is of. Raises ``ValueError`` with the difference where it is of another run."""
    if file.exists():
        refuse_other(file, json.loads(file.read_text(encoding="utf-8")), own)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as beside:
        beside.write_text(json.dumps(own, indent=1), encoding="utf-8")


def refuse_other(file: Path, found: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` where what was found in ``file`` is not our own."""
    there, now = (dict(_flat(json.loads(json.dumps(each)))) for each in (found, own))
    keys = [key for key in {**there, **now} if there.get(key) != now.get(key)]
    if keys:
        difference = "; ".join(f"{key}: {there.get(key)!r} there, {now.get(key)!r} now" for key in keys)
        raise ValueError(f"{file} is of another run: {difference}. Give another --out, or the settings of that run")


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """``{"a": {"b": 1}}`` as ``a.b``, 1."""
    if not isinstance(value, dict):
        yield name, value
        return
    for key, part in value.items():
        yield from _flat(part, f"{name}.{key}" if name else key)
