"""How ``fit`` reads numbers and unknown functions where it is not told, and that models read them so."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from own_trees import QUIET

import dgltree
from dgltree import TrainedModel, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets import Reading
from dgltree.read.sexpr import read_sexpr

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.training.encoder_choice import choose_encoder, number_scale, reads_numbers
from dgltree.training.options import FitOptions

pytestmark = QUIET

HOW: dict[str, Any] = {"hidden_size": 8, "epochs": 1, "no_baseline": True}


def of(texts: list[str]) -> TreeDataset:
    labels = [str(i % 2) for i in range(len(texts))]
    return TreeDataset([read_sexpr(text) for text in texts], labels, reading=Reading(notation="sexpr"))


def fitted(data: TreeDataset, out: Path, **options: Any) -> TrainedModel:
    return dgltree.fit(data, validation=data, out=out, **{**HOW, **options})


@pytest.mark.parametrize(
    ("texts", "read"),
    [
        (["(f 1 x)", "(f 2 x)"] * 2, False),  # whole, and each of them often
        (["(f 1.5 x)", "(f 2 x)"] * 2, True),
        (["(f 1 x)", "(f 1 x)", "(f 20 x)", "(f 30 x)"], True),  # two of three once
        (["(f x y)"] * 2, False),
    ],
)
def test_numbers_are_read_where_some_are_not_whole_or_most_are_rare(texts: list[str], read: bool) -> None:
    assert reads_numbers(of(texts), min_count=2) == read
    assert not choose_encoder(of(texts), FitOptions(encoder="lstm")).numbers, "sequences have no numbers"


def test_a_scale_is_of_the_middle_half_of_the_numbers() -> None:
    assert number_scale(of(["(f 1 2 3 4 1e9)"]).with_numbers()) == pytest.approx((3.0, 2 / 1.349))
    assert number_scale(of(["(f 7 7)"]).with_numbers()) == (7.0, 1.0)


def test_a_model_of_numbers_tells_unseen_ones_apart_and_reads_files_as_it_was_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(0)
    rows = [(f"{a:.2f}", f"{b:.2f}") for a, b in ((rng.uniform(-4, 4), rng.uniform(-4, 4)) for _ in range(40))]
    path, out = tmp_path / "sums.tsv", tmp_path / "model"
    lines = [f"(add {a} {b})\t{float(a) + float(b):.2f}" for a, b in rows]
    path.write_text("tree\tlabel\n" + "\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["fit", str(path), "--hidden-size", "8", "--epochs", "1", "--no-baseline", "--no-cache", "--out"]
    assert main([*arguments, str(out)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert "numeric leaves are read as numbers; --no-numbers reads them as words" in said
    assert "the encoder reads numbers and the order of children" in said
    model = TrainedModel.load(out)
    assert model.reading.numbers is True
    one, two = model.answers_to(["(add 1.2345 0)", "(add 3.0123 0)"]).tolist()
    assert one != two
    again = model.answers_to(TreeDataset.from_file(path, cached=False))
    torch.testing.assert_close(model.answers_to([line.split("\t")[0] for line in lines]), again)
    assert main([*arguments, str(tmp_path / "words"), "--no-numbers"]) == 0
    assert not any("read as numbers" in line for line in capsys.readouterr().err.splitlines())
    words = TrainedModel.load(tmp_path / "words")
    one, two = words.answers_to(["(add 1.2345 0)", "(add 3.0123 0)"]).tolist()
    assert one == two


def test_unknown_functions_are_answered_where_functions_share_their_weights(tmp_path: Path) -> None:
    data = of(["(f a b c d)", "(g d c b a)", "(f (g a b) c)", "(g b)"] * 3)
    default = fitted(data, tmp_path / "default")
    assert default.answers_to(["(new a (f a) c d e f g)"]).shape == (1, 2)
    for encoder, options in (("child_sum", {}), ("tree_lstm", {"typed": False}), ("lstm", {})):
        model = fitted(data, tmp_path / f"{encoder}", encoder=encoder, options=options)
        assert model.answers_to(["(new a b c d)"]).shape == (1, 2), encoder
        assert model.answers_to(["(f a (new a) c d)"]).shape == (1, 2), encoder
    closed = fitted(data, tmp_path / "closed", unk=False)
    with pytest.raises(ValueError, match="unknown function 'new'"):
        closed.answers_to(["(new a b c d)"])


@pytest.mark.parametrize("encoder", ["tree_lstm", "tree_rnn", "tree_cell", "child_sum", "transformer"])
def test_every_tree_is_answered_whatever_its_functions_tokens_and_numbers_of_children(
    encoder: str, tmp_path: Path
) -> None:
    data = of(["(f a b c)", "(g c b a)", "(f (g a b c) c)", "(g b (f a b))"] * 5)
    model = fitted(data, tmp_path / "model", encoder=encoder)
    texts = ["(new a)", "z", "(f a b c d e f g)", "(f (new (g a) z z z z) (g))", "(g (g (g (g a b) b) b) b)"]
    found = model.answers_to(texts)
    assert found.shape == (5, 2)
    assert bool(found.isfinite().all())
    known = model.dataset(texts)
    assert not known.bad
    assert model.explain(texts[2:3])[0].effects


def test_a_data_set_in_the_vocabulary_of_a_model_keeps_its_words() -> None:
    data = of(["(f 1.5 a)", "(f 2 b)"])
    with pytest.raises(
        ValueError,
        match="the data set is already encoded with a model's vocabulary; change the reading options before encoding",
    ):
        data.within(data.vocabulary(unk=True)).with_numbers()
