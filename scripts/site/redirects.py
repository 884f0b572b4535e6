"""Old addresses of the site, each with a page that leads to the new one (``redirects.tsv``)."""

import csv
import posixpath
from pathlib import Path

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Moved</title>
<meta http-equiv="refresh" content="0; url={0}"><meta name="robots" content="noindex">
<p>This page is now <a href="{0}">here</a>.</p></html>
"""


def moved() -> dict[str, str]:
    """The old addresses, from the root of the site, and the new ones."""
    with Path(__file__).with_suffix(".tsv").open(encoding="utf-8", newline="") as file:
        return {row["old"]: row["new"] for row in csv.DictReader(file, delimiter="\t")}


def write(site: Path) -> None:
    """Write a page at each old address. Raises ``ValueError`` if a page is still there, or the new one is not."""
    for old, new in moved().items():
        page, _, anchor = new.partition("#")
        if not (site / page).exists() or (anchor and f'id="{anchor}"' not in (site / page).read_text(encoding="utf-8")):
            raise ValueError(f"redirects.tsv: {old} leads to {new}, which the site does not have")
        if (site / old).exists() and "This page is now" not in (site / old).read_text(encoding="utf-8"):
            raise ValueError(f"redirects.tsv: {old} is a page of the site")
        (site / old).parent.mkdir(parents=True, exist_ok=True)
        (site / old).write_text(PAGE.format(posixpath.relpath(new, posixpath.dirname(old))), encoding="utf-8")
