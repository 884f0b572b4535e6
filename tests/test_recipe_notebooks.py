"""The notebooks of recipes run in a kernel, and print what their pages show."""

import sys
from pathlib import Path

import pytest
from transcripts import differences

pytest.importorskip("mkdocstrings_handlers.python", reason="the docs extra is not installed")
nbclient = pytest.importorskip("nbclient", reason="the test extra is not installed")
pytest.importorskip("ipykernel", reason="the test extra is not installed")
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "scripts" / "site"))

import hooks  # noqa: E402
import notebooks  # noqa: E402

PAGES = [ROOT / "docs" / page for page in hooks.NOTEBOOKS]
NEEDED = {"graphs": "dgl", "data": "rdkit"}
PAGE = """# A

See [b](b.md) and [c](https://c.example).

![d](d.png){ width=1 }

```python
print(1)
```

```text
1
```
"""


def printed(cell: notebooks.nbformat.NotebookNode) -> list[str]:
    parts = (output["text"] for output in cell["outputs"] if output.get("name") == "stdout")
    return "".join(parts).splitlines()


def test_a_page_becomes_text_without_links_to_pages_and_code_with_its_output() -> None:
    text, code = notebooks.notebook(PAGE)["cells"]
    assert text["source"] == "# A\n\nSee b and [c](https://c.example)."
    assert (code["source"], printed(code)) == ("print(1)", ["1"])
    assert notebooks.written(PAGE) == notebooks.written(PAGE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_notebook_prints_what_its_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.stem in NEEDED:
        pytest.importorskip(NEEDED[page.stem], reason=f"{NEEDED[page.stem]} is not installed")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    made = notebooks.notebook(page.read_text(encoding="utf-8"))
    notebooks.nbformat.validate(made)
    cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    shown = [printed(cell) for cell in cells]
    assert any(shown)
    nbclient.NotebookClient(made, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    found = [printed(cell) for cell in cells]
    assert [differences(*both) for both in zip(shown, found, strict=True) if both[0] and differences(*both)] == []
