"""An unknown token is read by its last known word, and a known one by its own vector and the mean of its words.

Which words a token has, which of them become entries, and that a saved model reads unknown tokens alike.
"""

from pathlib import Path

import pytest
import torch

from dgltree import Tree, TreeDataset, Vocabulary, batch, propagate
from dgltree.batching.vocabulary import part_table, parts_of, words_of
from dgltree.cells import CELLS, TreeLSTM
from dgltree.cells.cell import Embedding
from dgltree.encoders import TreeEncoder
from dgltree.models.checkpoint import load_model, save
from dgltree.models.readouts import ClassifierReadout
from dgltree.models.tree_model import TreeModel
from dgltree.training.pipeline import unknown_shares

TOKENS = ["<part:file>", "<part:name>", "<part:user>", "<unk>", "fileName", "user_name", "x"]
VOCABULARY = Vocabulary([("f", 2), ("x", 0)], TOKENS, unk=True, parts=True)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("user_name", ["user", "name"]),
        ("userName2", ["user", "name"]),
        ("HTTPResponse", ["http", "response"]),
        ("__init__", ["init"]),
        ("well-made", ["well", "made"]),
        ("GRÖSSE_maß", ["grösse", "mass"]),
        ("x1", []),
        ("a.b", []),
        ("3.5", []),
        ("", []),
    ],
)
def test_the_words_of_a_token(token: str, words: list[str]) -> None:
    assert words_of(token) == words


def test_words_are_parts_if_two_tokens_have_them_and_one_has_others_too() -> None:
    assert parts_of(["user_name", "fileName", "name", "running", "Running", "user_file", "x"]) == [
        "<part:file>",
        "<part:name>",
        "<part:user>",
    ]
    assert parts_of(["running", "Running", "user_name"]) == []


def test_an_unknown_token_is_its_last_known_word() -> None:
    names = ["user_name", "nameOfFile", "user2", "FILE", "userId", "ids", "<part:user>"]
    found = [3 if token is None else VOCABULARY.token_id(token) for token in names]
    assert [VOCABULARY.tokens[i] for i in found] == [
        "user_name",
        "<part:file>",
        "<part:user>",
        "<part:file>",
        "<part:user>",
        "<unk>",
        "<part:user>",
    ]
    assert list(VOCABULARY.find_tokens([*names, None])) == [*found, -1]
    assert not VOCABULARY.knows_token("userId")
    strict = Vocabulary([("x", 0)], TOKENS)
    with pytest.raises(ValueError, match="unknown token 'userId'"):
        strict.token_id("userId")


def test_a_token_of_the_data_is_no_word_although_it_is_written_as_one() -> None:
    tokens = ["<part:name>", "<part:name>", "userName", "fileName"]
    trees = [Tree("f", (Tree("x", token=token), Tree("x", token=token))) for token in tokens]
    data = TreeDataset(trees)
    plain = data.vocabulary(min_count=2, unk=True)
    assert plain.tokens[plain.token_id("<part:name>")] == "<part:name>"
    assert [plain.tokens[i] for i in (plain.token_id("hisName"), *plain.find_tokens(["hisName"]))] == ["<unk>"] * 2
    assert TreeLSTM(plain, 4, input_size=3).input_embedding.parts is None
    with_words = Vocabulary(plain.functions, plain.tokens, unk=True, parts=True)
    assert Vocabulary.from_json(plain.to_json()) == plain != with_words
    with pytest.raises(
        ValueError,
        match="the token '<part:name>' looks like a part of a token, as token_parts writes it: leave out",
    ):
        data.vocabulary(min_count=2, unk=True, parts=True)


def test_a_vector_is_the_tokens_own_and_the_mean_of_its_words() -> None:
    torch.manual_seed(0)
    embedding = Embedding(len(TOKENS), 4, parts=part_table(TOKENS)).double()
    w = dict(zip(TOKENS, embedding.weight, strict=True))
    expected = torch.stack(
        [
            w["<part:file>"],
            w["<part:name>"],
            w["<part:user>"],
            w["<unk>"],
            w["fileName"] + (w["<part:file>"] + w["<part:name>"]) / 2,
            w["user_name"] + (w["<part:user>"] + w["<part:name>"]) / 2,
            w["x"],
        ]
    )
    torch.testing.assert_close(embedding(torch.arange(len(TOKENS)), None), expected, atol=1e-12, rtol=0)
    assert torch.autograd.gradcheck(
        lambda weight: torch.func.functional_call(embedding, {"weight": weight}, (torch.tensor([4, -1, 6, 4]), None)),
        embedding.weight.detach().clone().requires_grad_(),
    )
    assert part_table(["a_b", "x"]) is None


def test_a_model_reads_unknown_tokens_alike_after_it_was_saved(tmp_path: Path) -> None:
    torch.manual_seed(0)
    cell = TreeLSTM(VOCABULARY, 4, input_size=3).double()
    trees = [Tree("f", (Tree("x", token=token), Tree("x", token="user_name"))) for token in ("fileId", "file2", "ids")]
    h = propagate(batch(trees, VOCABULARY), cell, share=True)["h"]
    roots = h[:: trees[0].size]
    assert torch.equal(roots[0], roots[1]), "both are files"
    assert not torch.equal(roots[0], roots[2])
    model = TreeModel(TreeEncoder(cell), ClassifierReadout(4, classes=2).double(), ("a", "b"))
    save(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    found = propagate(batch(trees, loaded.encoder.vocabulary), loaded.encoder.cell)["h"]
    torch.testing.assert_close(found, h)


@pytest.mark.parametrize("name", CELLS)
def test_leaves_of_every_cell_read_the_words_of_a_token(name: str) -> None:
    cell, leaf = CELLS[name](VOCABULARY, 4), batch([Tree("x", token="user_name")], VOCABULARY)
    before = propagate(leaf, cell)["h"].detach()
    with torch.no_grad():
        cell.embedding.weight[TOKENS.index("<part:user>")] += torch.arange(4)
    assert not torch.equal(propagate(leaf, cell)["h"], before)


def test_shares_of_unknown_tokens_are_of_those_without_a_known_word() -> None:
    data = TreeDataset([Tree("x", token=token) for token in ("x", "fileId", "ids", "user_name", "<unk>")])
    assert unknown_shares(data, VOCABULARY) == (0.0, pytest.approx(0.2))
