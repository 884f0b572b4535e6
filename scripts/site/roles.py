"""The reST in the docstrings, as the site reads it: roles become links into the reference, equations are displayed."""

import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from quotes import MATH, displayed, upright  # Griffe imports this file alone

ROLE = re.compile(r":(?:func|class|meth|mod|data|attr):`([^`]+)`")
INLINE_MATH = re.compile(r":math:`([^`]+)`")


class Roles(griffe.Extension):
    """Rewrites docstrings when a package is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        for thing in _all_of(pkg):
            if thing.is_class:
                _borrow(thing)
            if thing.docstring:
                thing.docstring.value = markdown(thing.docstring.value, thing)


def markdown(docstring: str, thing: griffe.Object) -> str:
    """A docstring with links and equations as the site writes them."""
    text = ROLE.sub(lambda role: _link(role[1], thing), docstring)
    text = MATH.sub(displayed, f"{text}\n").rstrip("\n")
    return INLINE_MATH.sub(lambda math: f"\\({upright(math[1])}\\)", text)


def _link(name: str, thing: griffe.Object) -> str:
    """A link to what a name means at its place; the name alone where that has no entry in the reference."""
    try:
        target = thing.resolve(name)
    except griffe.NameResolutionError:
        target = name
    return f'<autoref optional identifier="{target}"><code>{name}</code></autoref>'


def _borrow(thing: griffe.Object) -> None:
    """The docstring of a class that says ``__doc__ = Other.__doc__``."""
    doc = thing.members.get("__doc__")
    if thing.docstring is None and doc is not None and doc.is_attribute:
        other = thing.resolve(str(doc.value).removesuffix(".__doc__"))
        thing.docstring = griffe.Docstring(thing.modules_collection[other].docstring.value, parent=thing)


def _all_of(thing: griffe.Object) -> list[griffe.Object]:
    own = [member for member in thing.members.values() if not member.is_alias]
    return [thing, *(inner for member in own for inner in _all_of(member))]
