"""The way from text to an answer, at the head of each page of the guide, with the steps marked that it is about."""

STEPS = {
    "text": None,
    "read": "reading.md",
    "Tree": "trees.md",
    "batch": "batching.md",
    "TreeBatch": "batching.md",
    "plan": "engine.md",
    "propagate": "engine.md",
    "readout": "models.md",
    "answer": None,
}
"""Names to the pages that tell of them. Values have a capital letter or are at an end; the others are functions."""
ALL = set(STEPS)
GUIDE: dict[str, tuple[set[str], str | None]] = {
    "reading.md": ({"text", "read"}, "read"),
    "trees.md": ({"Tree"}, "trees"),
    "batching.md": ({"batch", "TreeBatch"}, "batching"),
    "cells.md": ({"propagate"}, "cells"),
    "engine.md": ({"plan", "propagate"}, "engine"),
    "encoders.md": ({"plan", "propagate"}, "encoders"),
    "induction.md": ({"Tree"}, "induction"),
    "models.md": ({"readout"}, "models"),
    "own_trees.md": ({"text", "read", "Tree", "batch"}, "datasets"),
    "training.md": (ALL, "training"),
    "commands.md": (ALL, None),
    "completing.md": (set(), "equations"),
    "ranking.md": (ALL - {"text", "read"}, "ranking"),
}
"""Pages to the steps, if there are any, and the package that they are about."""


def marked(markdown: str, page: str) -> str:
    """The text of a page of the guide with the way after its title, and a link to its package's reference."""
    if page not in GUIDE:
        return markdown
    about, package = GUIDE[page]
    title, _, text = markdown.partition("\n")
    reference = f"\n[Reference of `dgltree.{package}`](reference/{package}.md){{ .reference }}\n" if package else ""
    return f"{title}\n\n{_way(page, about) if about else ''}{reference}\n{text}"


def _way(page: str, about: set[str]) -> str:
    steps = []
    for name, leads in STEPS.items():
        kind = ".value" if name[0].isupper() or leads is None else ".step"
        classes = f"{{ {kind} .here }}" if name in about else f"{{ {kind} }}"
        steps.append(f"**{name}**{classes}" if leads in (None, page) else f"[{name}]({leads}){classes}")
    return '<div class="way" markdown>\n' + "\n".join(steps) + "\n</div>\n"
