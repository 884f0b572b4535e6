"""The home page: README's text, each of its jobs next to a picture, above the lists of docs/index.md."""

import re

import links

JOB = re.compile(r"^## \d\. .*?(?=^## )", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"^(?:!\[.*?\]\(.*?\)|<img .*?>)$", re.MULTILINE)
BUTTONS = (
    ("The first hour", "users.md"),
    ("Check equations", "tutorials/check_equations.md"),
    ("Networks", "networks.md"),
    ("Reference", "reference/index.md"),
)


def page(index: str) -> str:
    """The text of the home page, from README and docs/index.md without its title."""
    readme = (links.ROOT / "README.md").read_text(encoding="utf-8")
    text = readme[: readme.rindex("\n\n[All pages]")].replace("](docs/", "](").replace('src="docs/', 'src="')
    head, jobs = text.split("\n## ", 1)
    buttons = " ".join(
        f"[{title}]({target}){{ .md-button{'' if number else ' .md-button--primary'} }}"
        for number, (title, target) in enumerate(BUTTONS)
    )
    lists = index[index.index("\n## ") :]
    return f"{head}\n{buttons}\n\n{JOB.sub(_beside_its_picture, f'## {jobs}')}\n\n{lists}"


def _beside_its_picture(job: re.Match[str]) -> str:
    title, _, text = job[0].partition("\n")
    [picture] = PICTURE.findall(text)
    rest = text.replace(picture, "")
    columns = f"<div markdown>\n{rest}\n</div>\n<figure markdown>\n\n{picture}\n\n</figure>"
    return f'{title}\n\n<div class="job" markdown>\n{columns}\n</div>\n\n'
