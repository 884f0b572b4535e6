"""The words of two sentences ask each other: a pair's vector against its equations."""

import math
from typing import Any

import pytest
import torch
from context_oracle import silu, words_in_context
from latent_equations import affine, norm
from torch import Tensor

import dgltree
from dgltree import Tree, Vocabulary, batch
from dgltree.encoders import make_encoder

SENTENCES = ["a not b a", "a", "b", "b a", "a b c a b c a c", "c not a"]


def sentence(words: str) -> Tree:
    return Tree("sentence", tuple(Tree("word", token=word) for word in words.split()))


def make(**options: Any) -> tuple[Any, Any]:
    trees = [sentence(words) for words in SENTENCES]
    torch.manual_seed(3)
    given = {"order": "leaves", "in_context": True, "joint": True, "beam_size": 2, "noise": False, **options}
    encoder = make_encoder("efficient_beam_tree", Vocabulary.from_trees(trees), 6, **given).double().eval()
    with torch.no_grad():
        for unit in (encoder.core.context, encoder.pairs):
            unit.scale.normal_()  # so that who is asked matters
        encoder.pairs.segment.normal_()
    return encoder, batch(trees, encoder.vocabulary)


def mlp(layers: Any, x: Tensor) -> Tensor:
    hidden = affine(layers[0], x)
    return affine(layers[2], hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2)


def answer(unit: Any, sentences: list[tuple[Tensor, list[Tensor]]]) -> Tensor:
    """The vector of a pair, one position at a time."""
    x = []
    for k, (root, words) in enumerate(sentences):
        x += [unit.between] * k + [mlp(unit.sentence, root) + unit.segment[k]] + [w + unit.segment[k] for w in words]
    d = unit.common.out_features
    for _ in range(3):
        s = [norm(unit.norm, affine(unit.enter, each)) for each in x]
        Z = [silu(affine(unit.common, each)) for each in s]
        Q, Q_E, K = ([z * unit.scale[k] + unit.shift[k] for z in Z] for k in range(3))
        V = [silu(affine(unit.of_node, each)) for each in s]
        new = []
        for i, res in enumerate(x):
            near = [unit.relations[5 + min(max(j - i, -5), 5)] for j in range(len(x))]
            e = torch.stack([(Q[i] @ K[j] + Q_E[i] @ near[j]) / math.sqrt(2 * d) for j in range(len(x))])
            found = sum(a * v for a, v in zip(torch.softmax(e, 0), V, strict=True))
            o = affine(unit.out, silu(affine(unit.of_word, s[i])) * found)
            g = torch.sigmoid(affine(unit.gate, torch.cat([o, res])))
            new.append(g * o + (1 - g) * res)
        x = new
    weights = torch.softmax(torch.cat([mlp(unit.salience, each) for each in x]), 0)
    total: Tensor = sum(w * each for w, each in zip(weights, x, strict=True))
    return total


def test_a_pairs_vector_and_gradients_are_those_of_the_equations() -> None:
    encoder, flat = make()
    plan = encoder.plan(flat, share=False)
    found = encoder(plan)
    with torch.no_grad():
        roots = encoder.core(plan.ids, plan.lengths)
    rows = [row[:length] for row, length in zip(plan.ids.tolist(), plan.lengths.tolist(), strict=True)]
    expected = []
    for p in range(3):
        two = [(roots[i], words_in_context(encoder.core, rows[i], False)) for i in (2 * p, 2 * p + 1)]
        expected.append(answer(encoder.pairs, two))
    torch.testing.assert_close(found, torch.stack(expected), rtol=0, atol=1e-12)
    weights = list(encoder.pairs.parameters())
    ours = torch.autograd.grad(found.square().sum(), weights)
    theirs = torch.autograd.grad(torch.stack(expected).square().sum(), weights)
    for mine, literal in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, literal, rtol=0, atol=1e-11)


def test_a_pair_does_not_depend_on_the_others_and_its_sides_are_told_apart() -> None:
    encoder, flat = make()
    with torch.no_grad():
        found = encoder(flat)
        for p in range(3):
            two = [sentence(words) for words in SENTENCES[2 * p : 2 * p + 2]]
            alone, swapped = (encoder(batch(each, encoder.vocabulary)) for each in (two, two[::-1]))
            torch.testing.assert_close(found[p : p + 1], alone, rtol=0, atol=1e-12)
            assert (alone - swapped).abs().max() > 1e-3
    with pytest.raises(
        ValueError, match="a batch of 3 trees cannot be divided into pairs; give an even number of trees"
    ):
        encoder(batch([sentence("a")] * 3, encoder.vocabulary))


def test_a_trained_model_of_pairs_is_saved_and_answers_alike(tmp_path: Any) -> None:
    made = [(sentence(f"{a} {b}"), sentence(f"{c} {a}")) for a in "abc" for b in "abc" for c in "abc"]
    pairs = [(two, "same" if two[0].children[1] == two[1].children[0] else "other") for two in made]
    options = {"order": "leaves", "in_context": True, "joint": True, "beam_size": 2}
    settings: dict[str, Any] = {"encoder": "efficient_beam_tree", "hidden_size": 6, "epochs": 1, "no_baseline": True}
    fitted = dgltree.fit(pairs, out=tmp_path / "run", options=options, **settings)
    loaded = dgltree.TrainedModel.load(tmp_path / "run")
    torch.testing.assert_close(loaded.answers_to(made[:4]), fitted.answers_to(made[:4]), rtol=0, atol=0)
