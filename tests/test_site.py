"""The documentation site: what its pages are made of, and that it builds with every link leading somewhere."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("mkdocstrings_handlers.python", reason="the docs extra is not installed")
pytest.importorskip("nbformat", reason="the docs extra is not installed")
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "scripts" / "site"))

import bars  # noqa: E402
import diagrams  # noqa: E402
import hooks  # noqa: E402
import links  # noqa: E402
import public  # noqa: E402
import quotes  # noqa: E402
import redirects  # noqa: E402
import roles  # noqa: E402
import steps  # noqa: E402
import update  # noqa: E402

from dgltree.cells import CELLS  # noqa: E402
from dgltree.encoders import SEQUENCE_ENCODERS  # noqa: E402


@pytest.mark.slow
def test_every_public_name_has_an_entry_with_a_docstring() -> None:
    entries = {public.found(name).canonical_path: public.found(name) for name in public.entries()}
    exported = [public.found(name).canonical_path for name in public.exported()]
    assert len(exported) > 100
    assert [name for name in exported if name not in entries] == []
    assert [name for name, thing in entries.items() if not thing.docstring or not thing.docstring.value.strip()] == []


def test_every_package_has_a_page_of_the_reference() -> None:
    packages = {path.parent.name for path in (ROOT / "dgltree").glob("*/__init__.py")} - {"commands", "explore"}
    assert {path.stem for path in public.REFERENCE.glob("*.md")} == {*packages, "index"}


def test_every_cell_and_encoder_stands_among_the_networks() -> None:
    page = (ROOT / "docs" / "networks.md").read_text(encoding="utf-8")
    for kind in (*CELLS.values(), *SEQUENCE_ENCODERS.values()):
        package, module = inspect.getmodule(kind).__name__.split(".")[1:3]
        assert f"dgltree/{package}/{module}" in page, kind


def test_roles_of_a_docstring_are_links_and_its_equations_are_displayed() -> None:
    cell = public.found("dgltree.cells.TreeLSTM")
    docstring = "See :class:`Cell`.\n\n.. math::\n    a &= drop(b) \\\\\n    c &= d\n\nThen :math:`x_j`."
    text = roles.markdown(docstring, cell)
    assert '<autoref optional identifier="dgltree.cells.cell.Cell"><code>Cell</code></autoref>' in text
    assert "\\[\n\\begin{aligned}\na &= \\mathrm{drop}(b) \\\\\nc &= d\n\\end{aligned}\n\\]" in text
    assert "Then \\(x_j\\)." in text


def test_a_class_that_borrows_its_docstring_has_it_in_the_reference() -> None:
    assert "recursive cell" in public.found("dgltree.cells.Cell").docstring.value


def test_links_lead_to_the_same_pages_in_the_site() -> None:
    def of(text: str, page: str = "own_trees.md") -> str:
        return links.of_the_site(text, page)

    assert of("[a](../tasks/logic/README.md#data)") == "[a](tasks/logic/README.md#data)"
    assert of("[`a[0]`](trees.md)", "howto/gpu.md") == "[`a[0]`](trees.md)"
    assert of("[docs/data.md](../../docs/data.md)", "tasks/logic/README.md") == "[Public data](../../data.md)"
    assert of("![a](pictures/trees.png)", "tasks/logic/README.md") == "![a](pictures/trees.png)"
    assert of("[b](https://arxiv.org)") == "[b](https://arxiv.org)"
    assert of("[formats](../dgltree/datasets/formats/__init__.py)") == "[formats](reference/datasets.md)"
    assert of("[`test`](../scripts/test), `[x](y)`") == "`test`, `[x](y)`"
    assert of("```\n[a](../tasks/logic/README.md)\n```") == "```\n[a](../tasks/logic/README.md)\n```"


def test_the_steps_of_a_page_are_marked_and_the_others_lead_to_theirs() -> None:
    head = steps.marked("# Batching\n\nText.", "batching.md")
    assert head.startswith("# Batching\n\n<div")
    assert "**batch**{ .step .here }" in head
    assert "[plan](engine.md){ .step }" in head
    assert "[Reference of `dgltree.batching`](reference/batching.md)" in head
    assert steps.marked("# Recipes\n", "howto/index.md") == "# Recipes\n"


def test_equations_are_read_from_the_files_and_a_name_that_is_gone_is_told() -> None:
    lstm = ROOT / "dgltree/cells/tree_lstm.py"
    equation = quotes.equation(lstm, "TreeLSTM")
    assert "\\begin{aligned}" in equation
    page = "<!-- dgltree/cells/tree_lstm.py TreeLSTM -->\n\n```math\nold\n```\n\nText\n"
    assert quotes.quoted(page, ROOT / "docs") == page.replace("old", equation)
    with pytest.raises(ValueError, match=r"tree_lstm\.py has no TreeLSTM\.gone"):
        quotes.equation(lstm, "TreeLSTM.gone")
    with pytest.raises(ValueError, match=r"fused in .*tree_lstm\.py has no equation"):
        quotes.equation(lstm, "TreeLSTM.fused")


def test_pages_and_pictures_are_as_their_files_are() -> None:
    """Run ``scripts/docs update`` if not."""
    stale = [path for path, text in update.updated() if not path.exists() or path.read_text(encoding="utf-8") != text]
    assert stale == []
    drawn = {path.with_suffix(".txt") for path, _ in update.updated() if path.suffix == ".svg"}
    assert {
        path for folder in ("networks", "charts") for path in (ROOT / f"docs/pictures/{folder}").glob("*.txt")
    } == drawn


def test_a_diagram_has_its_boxes_and_arrows_and_refuses_an_arrow_to_nowhere() -> None:
    picture = diagrams.diagram("(h_1) | [W i] | (h)\n--\n(h_1) > [W i] > (h)\n")
    assert picture.count("<rect") == 3
    assert picture.count('class="arrow"') == 2
    with pytest.raises(ValueError, match=r"'\(x\)', which is not a box"):
        diagrams.diagram("(h) | [W i]\n--\n(x) > [W i]\n")
    with pytest.raises(ValueError, match="'h' is not a box"):
        diagrams.diagram("h | [W i]\n--\n")


def test_an_arrow_goes_around_the_boxes_between_its_ends() -> None:
    straight = diagrams.diagram("(a) | | (c)\n--\n(a) > (c)\n")
    around = diagrams.diagram("(a) | [b] | (c)\n | | (d)\n--\n(a) > (c)\n(a) > [b]\n")
    assert straight.count("C") == 1 and around.count("C") == 4  # three parts, and the arrow to b
    boxes = diagrams.Box("state", "a", 25, 26, 38), diagrams.Box("state", "c", 175, 26, 38)
    between = diagrams.Box("map", "b", 100, 26, 150)
    with pytest.raises(ValueError, match="from 'a' to 'c' finds no way around"):
        diagrams._arrow(
            *boxes,
            [*boxes, between._replace(width=400), between._replace(y=52, width=400), between._replace(y=5, width=400)],
            1,
        )


def test_old_addresses_lead_to_pages_that_are_there(tmp_path: Path) -> None:
    for old, new in redirects.moved().items():
        assert not (ROOT / "docs" / old).with_suffix(".md").exists(), old
        page, _, anchor = new.partition("#")
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        with (tmp_path / page).open("a") as file:
            file.write(f'<h2 id="{anchor}">')
    redirects.write(tmp_path)
    assert 'href="../howto/data.html#molecules"' in (tmp_path / "gallery/molecules.html").read_text()
    (tmp_path / "scale.html").unlink()
    with pytest.raises(ValueError, match=r"howto/processes\.html leads to scale\.html"):
        redirects.write(tmp_path)


@pytest.mark.slow
def test_the_site_builds_and_a_link_to_nowhere_stops_it(tmp_path: Path) -> None:
    copy_project(tmp_path / "site")
    page = tmp_path / "site" / "docs" / "trees.md"
    first = build(tmp_path / "site")
    assert first.returncode == 0, first.stderr
    built = (tmp_path / "site" / "build" / "site" / "reference" / "cells.html").read_text(encoding="utf-8")
    assert 'id="dgltree.cells.TreeLSTM"' in built
    assert ":class:" not in built
    assert "install.html" in (tmp_path / "site" / "build" / "site" / "users.html").read_text(encoding="utf-8")
    page.write_text(page.read_text(encoding="utf-8") + "\n[gone](reading.md#gone)\n", encoding="utf-8")
    assert "does not contain an anchor '#gone'" in build(tmp_path / "site").stderr


def copy_project(folder: Path) -> None:
    """Copy what git does not ignore: beside it lie environments of many gigabytes."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)


TABLE = "| | speed | size |\n| --- | --- | --- |\n| `a` | 12.3× (5 a second) | 1,024 |\n| b | 2.0×, 2.1× | 7 |\n"


def test_a_chart_has_the_numbers_of_its_page() -> None:
    drawn = bars.chart("Speed\nall\nours | `a` | speed | tree_smu\nothers | b | speed\n", TABLE)
    assert re.findall(r'class="number"[^>]*>(.*?)<', drawn) == ["12.3×", "2.0×"]
    bar = re.compile(r'width="([\d.]+)" height="14" rx="2" fill="(#\w+)"')
    (longest, colour), (other, _) = bar.findall(drawn)
    assert colour == "#0072B2" and float(other) / float(longest) == pytest.approx(2 / 12.3, abs=0.01)
    assert ">all<" in drawn
    log = bar.findall(bars.chart("Speed (a logarithmic scale)\nours | `a` | speed\nothers | b | speed\n", TABLE))
    assert float(log[1][0]) / float(log[0][0]) == pytest.approx(0.276, abs=0.01)
    with pytest.raises(ValueError, match="0 rows 'c' with a column 'speed'"):
        bars.chart("Speed\nx | c | speed\n", TABLE)


def test_the_footer_links_to_the_repository_without_its_password() -> None:
    assert hooks.public_address("https://name:secret@example.org/a/b.git\n") == "https://example.org/a/b"
    assert hooks.public_address("git@example.org:a/b.git") is None
    assert hooks.public_address("/home/someone/b") is None
    assert hooks.public_address("") is None


def test_a_picture_leads_to_itself_and_only_charts_turn_dark() -> None:
    page = SimpleNamespace(file=SimpleNamespace(dest_uri="howto/gpu.html"))
    html = hooks.on_page_content('<img alt="a" src="../pictures/batch.png"><img src="x/chart.png">', page=page)
    assert html.startswith('<a class="enlarge screenshot" href="../pictures/batch.png"><img alt="a"')
    assert '<a class="enlarge chart" href="x/chart.png">' in html
