"""Words of plain sentences have vectors of their own, labels can be learnt from them, and a loaded model gives them."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from own_trees import QUIET

import dgltree
from dgltree import Tree, TreeDataset, Vocabulary, batch
from dgltree.encoders import make_encoder

pytestmark = QUIET
OPTIONS: dict[str, Any] = {"order": "leaves", "in_context": True, "beam_size": 2}


def sentence(words: str, labels: list[int] | None = None) -> Tree:
    leaves = [Tree("word", token=word) for word in words.split()]
    if labels is not None:
        leaves = [Tree("word", token=word, label=label) for word, label in zip(words.split(), labels, strict=True)]
    return Tree("sentence", tuple(leaves), label=None if labels is None else labels[-1])


def encoder_of(trees: list[Tree], **options: Any) -> Any:
    torch.manual_seed(0)
    return make_encoder("efficient_beam_tree", Vocabulary.from_trees(trees), 8, **{**OPTIONS, **options}).eval()


def test_leaves_have_the_vectors_of_words_and_roots_those_of_sentences() -> None:
    trees = [sentence("a not b a"), Tree("word", token="a"), sentence("b a")]
    encoder = encoder_of(trees)
    flat = batch(trees, encoder.vocabulary)
    with torch.no_grad():
        h, planned = encoder.node_states(flat), encoder.node_states(encoder.plan(flat, share=False))
        ids, lengths = encoder.core.linearized(flat, "leaves", encoder.vocabulary)
        words, roots = encoder.core.words_in_context(ids, lengths), encoder(flat)
    assert torch.equal(h, planned) and len(h) == flat.num_nodes
    assert torch.equal(h[flat.roots[[0, 2]]], roots[[0, 2]])
    leaves = torch.nonzero(flat.arity == 0).squeeze(1)
    tokens = [encoder.vocabulary.tokens[int(flat.token[node])] for node in leaves]
    there = torch.cat([words[0, :4], words[1, :1], words[2, :2]])
    expected = {tuple(v) for v in there.tolist()}
    assert sorted(tokens) == sorted(["a", "not", "b", "a", "a", "b", "a"])
    assert {tuple(v) for v in h[leaves].tolist()} == expected and len(expected) == 7
    [tree, place] = encoder.plan(flat, share=False).nodes[leaves].t().tolist()
    texts = [["a", "not", "b", "a"], ["a"], ["b", "a"]]
    assert [texts[t][k] for t, k in zip(tree, place, strict=True)] == tokens


def test_what_is_no_plain_sentence_has_no_words_in_context() -> None:
    deep = Tree("sentence", (Tree("phrase", (Tree("word", token="a"),)), Tree("word", token="b")))
    encoder = encoder_of([deep])
    flat = batch([deep], encoder.vocabulary)
    assert encoder(flat).shape == (1, 8)
    with pytest.raises(
        ValueError,
        match=r"tree 1 is not a plain sentence: node 2 of the batch is neither the root nor a separate word\. Words",
    ):
        encoder.node_states(flat)
    for options in ({"in_context": False}, {"order": "bracketed"}, {"joint": True}):
        with pytest.raises(
            ValueError,
            match=r"a SequenceEncoder reads sequences and has no node vectors\. Use a tree encoder, or",
        ):
            encoder_of([deep], **options).node_states(flat)


@pytest.mark.slow
def test_labels_of_words_that_depend_on_others_are_learnt(tmp_path: Path) -> None:
    """A word's label is whether the number of "not" before it is odd."""
    pytest.importorskip("lightning", reason="the train extra is not installed")
    draw, trees = random.Random(0), []
    for _ in range(80):
        words = draw.choices(["a", "b", "not"], k=draw.randint(2, 5))
        trees.append(sentence(" ".join(words), [words[:k].count("not") % 2 for k in range(len(words))]))
    data = TreeDataset(trees, [str(tree.label) for tree in trees])
    how = {"encoder": "efficient_beam_tree", "options": OPTIONS, "hidden_size": 16, "dropout": 0.0, "lr": 0.01}
    sets = {"validation": data, "test": data}
    model = dgltree.fit(data, **sets, nodes=True, batch_size=8, epochs=5, no_baseline=True, out=tmp_path, **how)
    further = json.loads((tmp_path / "card.json").read_text("utf-8"))["further"]
    assert further["node_accuracy"] > 0.8, "by the word alone some 0.55"
    assert "f1" in further
    vectors = dgltree.TrainedModel.load(tmp_path).node_vectors(data)
    assert vectors.shape == (data.num_nodes, 16)
    torch.testing.assert_close(vectors, model.node_vectors(data), rtol=0, atol=1e-5)
