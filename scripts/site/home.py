"""The home page: README's text with buttons, above the table of docs/index.md."""

import links

BUTTONS = (
    ("A first batch", "first_batch.md"),
    ("From DGL", "howto/dgl_model.md"),
    ("A table of trees", "table.md"),
    ("Equations", "check_equations.md"),
)


def page(index: str) -> str:
    """The text of the home page, from README without its last line and docs/index.md without its title."""
    readme = (links.ROOT / "README.md").read_text(encoding="utf-8").rstrip()
    text = readme[: readme.rindex("\n\n")].replace("](docs/", "](")
    head, sections = text.split("\n## ", 1)
    buttons = " ".join(
        f"[{title}]({target}){{ .md-button{'' if number else ' .md-button--primary'} }}"
        for number, (title, target) in enumerate(BUTTONS)
    )
    table = index[index.index("\n## ") :]
    return f"{head}\n{buttons}\n\n## {sections}\n{table}"
