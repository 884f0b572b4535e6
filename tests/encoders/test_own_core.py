"""A core of one's own needs a class and an entry in the registry; the rest is derived."""

from pathlib import Path

import pytest
import torch
from helpers import random_tree
from torch import Tensor, nn

import dgltree
from dgltree import Vocabulary, batch
from dgltree.encoders import SEQUENCE_ENCODERS, Encoded, InducingCore, Merges, make_encoder
from dgltree.induction import left_branching
from dgltree.models import ClassifierReadout, TreeModel

TREES = [random_tree(3, 2, seed) for seed in range(4)]
VOCABULARY = Vocabulary.from_trees(TREES)


class BagOfWords(InducingCore):
    """The mean of the words' vectors, and a tree that looks at nothing."""

    def __init__(self, size: int, hidden_size: int, *, scale: float = 1.0, max_length: int | None = None) -> None:
        super().__init__(size, max_length, hidden_size=hidden_size, scale=scale)
        self.embedding, self.scale = nn.Embedding(size, hidden_size), scale

    def read(self, ids: Tensor, lengths: Tensor, trace: bool = False) -> Encoded:
        rows = zip(self.embedding(ids), lengths.tolist(), strict=True)
        root = self.scale * torch.stack([words[:length].mean(0) for words, length in rows])
        gaps = torch.arange(ids.shape[1] - 1).expand(len(ids), -1)
        return Encoded(root, Merges(gaps.masked_fill(gaps >= lengths.unsqueeze(1) - 1, -1)))


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SEQUENCE_ENCODERS, "bag", BagOfWords)


@pytest.mark.parametrize("joint", [False, True])
def test_it_is_made_by_name_saved_and_loaded(joint: bool, tmp_path: Path) -> None:
    encoder = make_encoder("bag", VOCABULARY, 5, scale=2.0, joint=joint)
    model = TreeModel(encoder, ClassifierReadout(5, 3), ["a", "b", "c"]).eval()
    dgltree.save(model, tmp_path / "model")
    loaded, flat = dgltree.load(tmp_path / "model"), batch(TREES, VOCABULARY)
    torch.testing.assert_close(loaded(flat), model(flat))
    assert loaded.encoder.config["scale"] == 2.0


def test_it_induces_trees_and_its_options_are_named() -> None:
    encoder = make_encoder("bag", VOCABULARY, 5, order="leaves")
    assert encoder.trees(batch(TREES, VOCABULARY)) == [
        left_branching([leaf.token or leaf.function for leaf in tree.preorder() if not leaf.children]) for tree in TREES
    ]
    with pytest.raises(ValueError, match=r"bag has no option 'layers'; its options are order, joint, scale"):
        make_encoder("bag", VOCABULARY, 5, layers=2)


class Positional(BagOfWords):
    """Whose options may be given by position, and which forgets its width if it has no depth."""

    def __init__(self, size: int, hidden_size: int, depth: int = 1, max_length: int | None = None) -> None:
        super().__init__(size, hidden_size, max_length=max_length)
        self.config = {"depth": depth, "max_length": max_length}
        if depth:
            self.config["hidden_size"] = hidden_size


def test_options_may_be_given_by_position_and_a_core_that_keeps_no_width_is_refused_when_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SEQUENCE_ENCODERS, "positional", Positional)
    encoder = make_encoder("positional", VOCABULARY, 5, depth=2)
    model = TreeModel(encoder, ClassifierReadout(5, 3), ["a", "b", "c"])
    dgltree.save(model, tmp_path / "model")
    assert dgltree.load(tmp_path / "model").encoder.config == encoder.config
    with pytest.raises(ValueError, match=r"Positional must pass hidden_size to super\(\).__init__"):
        make_encoder("positional", VOCABULARY, 5, depth=0)
