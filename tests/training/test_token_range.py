"""Token vectors are drawn from the range that is asked for, and nothing else is."""

from pathlib import Path

import pytest
import torch
from own_trees import built, table, written

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import TreeDataset
from dgltree.training.encoder_choice import token_vectors
from dgltree.training.options import FitOptions

RANGE = 0.02


def data(folder: Path) -> TreeDataset:
    return TreeDataset.from_file(written(folder, "trees.tsv", table(60)))


@pytest.mark.parametrize(
    "options",
    [{"encoder": "ordered_memory"}, {"encoder": "tree_lstm", "input_size": 6}, {"options": {"rounds": 2}}],
)
def test_token_vectors_alone_are_drawn_from_the_range(options: dict, tmp_path: Path) -> None:
    given = {"hidden_size": 6, "seed": 3, **options}
    plain, ranged = (
        built(data(tmp_path), FitOptions(**given, **more)).module.model.encoder for more in ({}, {"token_range": RANGE})
    )
    tokens = len(ranged.vocabulary.tokens)
    drawn = token_vectors(ranged)
    for vectors, before in zip(drawn, token_vectors(plain), strict=True):
        words = vectors[-tokens:]
        assert words.abs().max() <= RANGE < before.abs().max()
        assert words.std().item() == pytest.approx(RANGE / 3**0.5, rel=0.3)
        assert torch.equal(vectors[:-tokens], before[:-tokens])
    others = {name for name, each in ranged.named_parameters() if not any(each is one for one in drawn)}
    assert all(torch.equal(ranged.get_parameter(name), plain.get_parameter(name)) for name in others)


def test_what_says_otherwise_how_vectors_begin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match="token_range and vectors both set the initial token vectors; give only one of the two"
    ):
        FitOptions(token_range=RANGE, vectors="glove.txt", input_size=6)
    with pytest.raises(ValueError, match=r"token_range is 0.0; it must be above 0"):
        FitOptions(token_range=0.0)
    with pytest.raises(ValueError, match="token_range and frozen concern input vectors; give an input_size"):
        built(data(tmp_path), FitOptions(encoder="tree_lstm", hidden_size=6, input_size=0, token_range=RANGE))
