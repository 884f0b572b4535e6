"""The pictures of the four rooms in the documentation: made here, and compared with what the page is now.

With ``DGLTREE_WRITE_PICTURES=1`` they are written again.
"""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explore_page import ROOT, Running
from own_trees import QUIET, expression, worth

import dgltree
from dgltree.commands.main import main
from dgltree.support.files import replacing

pytestmark = [pytest.mark.browser, *QUIET]
FOLDER = ROOT / "docs" / "pictures"
LARGEST = 300_000
CLOSE = 14
"""Grey levels of 255 by which a small copy may differ on average: fonts and times are not the same everywhere."""
ROOMS = {
    "equation": ("#equation?text=sin(x)^2+%2B+_+%3D+1&beside=tree_smu_h50&step=0", ".inside >> nth=1"),
    "sequence": ("#sequence", ".brackets >> nth=3"),
    "trees": ("#trees", ".map .plane path >> nth=0"),
    "batch": ("#batch?step=3", ".figures .number:nth-child(3) >> text=ms"),
}
"""The address of each picture, and what is there when it is done."""


@pytest.fixture(scope="module")
def shown(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The page with the published Tree-SMU, and a model that tells how large an expression is at a point."""
    pytest.importorskip("lightning", reason="the train extra is not installed")
    import random

    folder, rng = tmp_path_factory.mktemp("shown"), random.Random(5)
    lines = ["id\ttree\tlabel"]
    for i in range(900):
        text = expression(rng, 3)
        lines.append(f"e{i}\t{text}\t{_size(dgltree.read_infix(text).fold(worth))}")
    (folder / "trees.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    how = ["--hidden-size", "24", "--epochs", "10", "--lr", "0.01", "--batch-nodes", "400"]
    how += ["--input-size", "0", "--dropout", "0"]
    assert main(["fit", str(folder / "trees.tsv"), "--out", str(folder / "sizes"), *how]) == 0
    weights = published / "equations" / "checkpoints" / "tree_smu_h50.checkpoint"
    made = Running(str(weights), str(folder / "sizes"), "--trees", str(folder / "trees.tsv"))
    yield made
    made.end()


def _size(value: float) -> str:
    return "small" if abs(value) < 1 else "negative" if value < 0 else "large" if value > 3 else "medium"


@pytest.mark.data
@pytest.mark.parametrize("room", ROOMS)
def test_a_room_looks_as_in_its_picture(page: Any, shown: Running, room: str) -> None:
    image = pytest.importorskip("PIL.Image", reason="the plot extra is not installed")
    address, ready = ROOMS[room]
    page.goto(shown.url + address)
    page.locator(ready).wait_for(timeout=60_000)
    page.locator(".effort, .quiet", has_text="searching").wait_for(state="detached")
    page.wait_for_timeout(500)
    now = image.open(io.BytesIO(page.screenshot(full_page=True, animations="disabled"))).convert("RGB")
    file = FOLDER / f"{room}.png"
    if os.environ.get("DGLTREE_WRITE_PICTURES"):
        FOLDER.mkdir(exist_ok=True)
        with replacing(file) as beside:
            now.quantize(200).save(beside, format="PNG", optimize=True)
    before = image.open(file).convert("RGB")
    assert file.stat().st_size < LARGEST
    assert now.width == before.width and abs(now.height - before.height) < 0.15 * before.height
    small = [np.asarray(one.convert("L").resize((64, 96)), float) for one in (now, before)]
    assert np.abs(small[0] - small[1]).mean() < CLOSE
