"""What the README names is there, and its numbers are those of the pages."""

import configparser
import os
import re
from pathlib import Path

import pytest

from dgltree.cells import CELLS
from dgltree.datasets.formats import FORMATS
from dgltree.encoders import SEQUENCE_ENCODERS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_program_is_short() -> None:
    """It is run by ``test_page_blocks.py``."""
    [program] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(program.splitlines()) <= 30


def test_every_script_and_module_that_the_readme_names_is_there() -> None:
    for script in set(re.findall(r"\bscripts/\w+", README)):
        assert os.access(ROOT / script, os.X_OK), script
    for module in set(re.findall(r"python -m ([\w.]+)", README)):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
    for page in re.findall(r"\]\(((?:docs/)?[\w./]+(?:\.md)?)\)", README):
        assert (ROOT / page).exists(), page


def test_no_line_of_code_is_wider_than_its_box() -> None:
    lines = [
        line for block in re.findall(r"```(?!text)\w+\n(.*?)```", README, re.DOTALL) for line in block.splitlines()
    ]
    assert [line for line in lines if len(line) > 88] == []


def test_the_counts_of_networks_and_formats_are_those_of_the_registries() -> None:
    assert re.findall(r"(\d+) tree cells .* (\d+) sequence encoders", README) == [
        (str(len(CELLS)), str(len(SEQUENCE_ENCODERS)))
    ]
    assert re.findall(r"(\d+) file formats", README) == [str(len(FORMATS))]


@pytest.mark.parametrize(
    ("page", "numbers"),
    [
        ("performance", ["2.05 times", "9.4×", "17.4×", "7.1×"]),
        ("exactness", ["2e-14"]),
        ("results", ["4,159"]),
    ],
)
def test_the_results_are_those_of_the_pages_that_have_their_commands(page: str, numbers: list[str]) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert [number for number in numbers if number not in text] == []
    values = [
        re.sub(r"\d\.\d\d", lambda found: f"{float(found[0]):.1f}", re.split("[ ×]", number)[0]) for number in numbers
    ]
    assert [value for value in values if not re.search(rf"\b{re.escape(value)}\b", README)] == []


def test_the_version_is_the_same_everywhere() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    version = setup["metadata"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{version}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"/dgltree-{version}-py3-none-any.whl" in (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def test_the_page_of_installing_has_every_extra() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    table = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").partition("| extra |")[2].partition("\n\n")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(first_cells))) == set(setup["options.extras_require"])
