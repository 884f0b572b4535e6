"""The files of a training."""

from pathlib import Path

import pytest

import dgltree
from dgltree import Tree, TreeDataset

pytest.importorskip("lightning", reason="the train extra is not installed")


@pytest.mark.parametrize("name", ["validation", "test"])
@pytest.mark.parametrize("pairs_first", [False, True])
def test_files_of_trees_beside_files_of_pairs_are_refused(name: str, pairs_first: bool, tmp_path: Path) -> None:
    tree = Tree("w", token="a")
    files = [TreeDataset([tree] * 4, list("abab")), TreeDataset([(tree, tree)] * 4, list("abab"))]
    data, other = files[::-1] if pairs_first else files
    with pytest.raises(ValueError, match="some files hold single trees and others pairs of trees; give one kind"):
        dgltree.fit(data, **{name: other}, out=tmp_path / "model", epochs=1)
