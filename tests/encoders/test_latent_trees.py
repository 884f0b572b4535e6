"""Every network that finds a tree: a batch changes nothing, the parse is the one used, and the numbers are the literal
ones.

A network of the registry is here by its row in tests/rows.py; one that joins neighbours has its literal form in
tests/latent_oracle.py.
"""

from typing import Any

import pytest
import torch
from beam_oracle import u
from latent_oracle import ORACLES, along, over_all_orders
from latent_oracle import read as literal
from latent_oracle import words as leaves
from rows import ENCODERS
from torch import Tensor

from dgltree.encoders import SEQUENCE_ENCODERS, Beams, Encoded, InducingCore, Merges
from dgltree.encoders.latent import beams, gumbel_tree
from dgltree.encoders.latent import beams as compiled_beams
from dgltree.encoders.latent.beams_of_chunks import Draws
from dgltree.encoders.latent.joining_core import JoiningCore

INDUCING = [name for name, core in SEQUENCE_ENCODERS.items() if issubclass(core, InducingCore)]
JOINING = [name for name, core in SEQUENCE_ENCODERS.items() if issubclass(core, JoiningCore)]
BEAMS = ["beam_tree", "efficient_beam_tree"]
FORMS: dict[str, dict[str, Any]] = {  # the registry's name is before the first comma
    **{name: {} for name in JOINING},
    "gumbel_tree, GRC, linear": {"cell": "grc", "score": "linear", "temperature": 0.5},
    "gumbel_tree, GRC, children": {"cell": "grc", "score": "children"},
    "gumbel_tree, children, all pairs": {"score": "children", "composed": "pairs"},
    "gumbel_tree, as the paper": {"scaled": False, "forget_bias": 0.0},
    "gumbel_tree, leaf LSTM": {"leaf": "lstm"},
    "gumbel_tree, leaf LSTMs, attention": {"leaf": "both", "attention": True},
    "gumbel_tree, GRC, attention": {"cell": "grc", "attention": True},
    "crvnn, first": {"version": "first", "penalty": 0.5},
    "crvnn, first of ListOps": {"version": "first", "gelu": "tanh", "merged_by": "existence"},
    "crvnn, no halt": {"halt": False},
    "crvnn, equation 6": {"neighbours": "product"},
    "crvnn, first, chunks": {"version": "first", "penalty": 0.5, "chunk_size": 2},
    "beam_tree, Tree-LSTM": {"cell": "tree_lstm"},
    "beam_tree, relu": {"cell": "tree_cell"},
    "beam_tree, one beam": {"beam_size": 1},
    "beam_tree, OneSoft": {"one_soft": True},
    "beam_tree, OneSoft, one beam": {"one_soft": True, "beam_size": 1},
    "efficient_beam_tree, all of the state": {"slice_size": None},
    "efficient_beam_tree, tanh": {"cell": "tree_rnn"},
    "balanced_tree, chunks": {"chunk_size": 3},
    "gumbel_tree, chunks": {"chunk_size": 2},
    "gumbel_tree, chunks in training": {"chunk_size": 3, "chunks_in_evaluation": False},
    "beam_tree, Tree-LSTM, chunks": {"cell": "tree_lstm", "chunk_size": 3, "handed_on": "mean"},
    "efficient_beam_tree, chunks, one beam": {"chunk_size": 2, "beam_size": 1, "handed_on": "mean"},
    "efficient_beam_tree, beams drawn, S4D": {"chunk_size": 3, "front": "s4d"},
    "efficient_beam_tree, beams ranked, Tree-LSTM": {"chunk_size": 3, "handed_on": "ranked", "cell": "tree_lstm"},
    "beam_tree, beams random": {"chunk_size": 3, "handed_on": "random", "beam_size": 2},
    "beam_tree, OneSoft, beams drawn": {"chunk_size": 4, "one_soft": True},
}
LENGTHS = [1, 2, 3, 7, 5, 1, 4]
IDS = torch.randint(3, 8, (7, 7), generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def fixed_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """In training, too."""

    def of(self: Draws, level: int, number: Tensor, beams: int) -> Tensor:
        return torch.tensor([[u(level, chunk, b) for b in range(beams)] for chunk in number.tolist()]).double()

    monkeypatch.setattr(Draws, "of", of)


def make(form: str, size: int = 6, **options: Any) -> Any:
    name = form.split(",")[0]
    torch.manual_seed(5)
    core = SEQUENCE_ENCODERS[name](8, size, **{**ENCODERS[name], **FORMS.get(form, {}), **options}).double()
    with torch.no_grad():  # so that some choices are sure and others not
        for parameter in core.parameters():
            parameter.mul_(1.5)
    return core


def rows(ids: Tensor, lengths: list[int]) -> list[list[int]]:
    return [row[:length] for row, length in zip(ids.tolist(), lengths, strict=True)]


def weighed(root: Tensor) -> Tensor:
    return (root * torch.arange(1, root.numel() + 1, dtype=root.dtype).view_as(root).cos()).sum()


def gradient(core: Any, value: Tensor) -> Tensor:
    core.zero_grad()
    value.backward()
    parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in core.parameters()]
    return torch.cat([part.flatten() for part in parts])


def read(core: Any, ids: Tensor = IDS, lengths: list[int] = LENGTHS, trace: bool = False) -> Encoded:
    return core.encoded(ids, torch.tensor(lengths), trace)


def order_of(found: Encoded, row: int, length: int) -> list[int]:
    parse = found.parse
    order = parse.order[row] if isinstance(parse, Merges) else parse.orders[row, 0]
    assert order[length - 1 :].tolist() == [-1] * (len(order) - length + 1)
    return order[: length - 1].tolist()


def test_every_network_that_joins_neighbours_has_a_literal_form() -> None:
    missing = [name for name in JOINING if SEQUENCE_ENCODERS[name] not in ORACLES]
    assert not missing, f"add the literal form of {', '.join(missing)} to ORACLES in tests/latent_oracle.py"


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_states_losses_gradients_and_trees_are_those_of_the_literal_form(form: str, training: bool) -> None:
    core = make(form).train(training)
    found = read(core)
    told = [literal(core, row, training, None) for row in rows(IDS, LENGTHS)]
    root = torch.stack([one.root for one in told])
    torch.testing.assert_close(found.root, root, rtol=0, atol=1e-10)
    for row, (one, length) in enumerate(zip(told, LENGTHS, strict=True)):
        assert order_of(found, row, length) == one.order
    losses = torch.stack([torch.as_tensor(one.penalty, dtype=torch.float64) for one in told])
    torch.testing.assert_close(sum(found.losses.values(), torch.zeros(7).double()), losses, rtol=0, atol=1e-10)
    expected = gradient(core, weighed(root) + losses.mean())
    assert expected.abs().max() > 1e-3
    torch.testing.assert_close(gradient(core, weighed(found.root) + found.loss), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("form", ["gumbel_tree", "beam_tree", "beam_tree, OneSoft", "efficient_beam_tree"])
def test_noise_chooses_and_never_enters_the_totals(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Tensor] = []

    def fixed(like: Tensor) -> Tensor:
        drawn.append(3 * torch.randn(like.shape, dtype=like.dtype, generator=torch.Generator().manual_seed(len(drawn))))
        return drawn[-1]

    for module in (beams, compiled_beams, gumbel_tree):
        monkeypatch.setattr(module, "gumbel", fixed)
    core, ids = make(form, noise=True).train(), IDS[3:4]
    found = read(core, ids, [7])
    told = literal(core, ids[0].tolist(), True, iter(drawn))
    torch.testing.assert_close(found.root[0], told.root, rtol=0, atol=1e-10)
    assert order_of(found, 0, 7) == told.order
    assert told.order != literal(core, ids[0].tolist(), True, None).order
    expected = gradient(core, weighed(told.root))
    torch.testing.assert_close(gradient(core, weighed(found.root)), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", BEAMS)
def test_with_beams_enough_all_orders_of_merges_are_weighed(name: str, length: int) -> None:
    core = make(name, size=4, beam_size=24)
    found = read(core, IDS[3:4, :length], [length])
    torch.testing.assert_close(found.root[0], over_all_orders(core, IDS[3, :length].tolist()), rtol=0, atol=1e-12)


def test_with_beams_enough_all_orders_of_six_words_are_weighed() -> None:
    core = make("efficient_beam_tree", size=2, beam_size=120)
    with torch.no_grad():
        found = read(core, IDS[3:4, :6], [6])
        torch.testing.assert_close(found.root[0], over_all_orders(core, IDS[3, :6].tolist()), rtol=0, atol=1e-12)


def mixes(form: str) -> bool:
    """Whether the root is not, beam by beam, what an order of merges gives."""
    return form.startswith("crvnn") or "attention" in form or form == "beam_tree, Tree-LSTM, chunks"


@pytest.mark.parametrize("form", [form for form in FORMS if not mixes(form)])
def test_the_parse_is_the_one_that_the_root_was_computed_by(form: str) -> None:
    core = make(form).eval()
    found = read(core)
    for row, ids in enumerate(rows(IDS, LENGTHS)):
        if isinstance(found.parse, Beams):
            there = zip(found.parse.weights[row], found.parse.orders[row, :, : len(ids) - 1].tolist(), strict=True)
            weights = [(w, order) for w, order in there if w > 0]
            assert sum(w for w, _ in weights) == pytest.approx(1)
        else:
            weights = [(1.0, order_of(found, row, len(ids)))]
        root = sum(w * along(core, leaves(core, ids), order) for w, order in weights)
        torch.testing.assert_close(found.root[row], root, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", [*FORMS, "on_lstm", "ordered_memory"])
def test_padding_and_the_rest_of_a_batch_change_nothing(form: str) -> None:
    core = make(form)
    found, wider = read(core), torch.full((7, 9), 7)
    wider[:, :7] = IDS
    for row, length in enumerate(LENGTHS):
        alone = read(core, wider[row : row + 1, :length], [length])
        torch.testing.assert_close(found.root[row], alone.root[0], rtol=0, atol=1e-12)
        words = [[str(t) for t in range(length)]]
        every = found.parse.trees([[str(t) for t in range(k)] for k in LENGTHS])
        assert alone.parse.trees(words) == [every[row]]
        for name, loss in alone.losses.items():
            torch.testing.assert_close(found.losses[name][row], loss[0], rtol=0, atol=1e-12)
    together = gradient(core, weighed(found.root[3]))
    torch.testing.assert_close(
        gradient(core, weighed(read(core, wider[3:4], [7]).root[0])), together, rtol=0, atol=1e-11
    )
    torch.testing.assert_close(read(core, wider).root, found.root, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", INDUCING)
def test_long_sentences_and_repeated_words_do_not_depend_on_the_batch(name: str) -> None:
    core = make(name).eval()
    ids = torch.randint(3, 8, (3, 150), generator=torch.Generator().manual_seed(2))
    ids[1] = 5
    lengths = [150, 61, 9]
    with torch.no_grad():
        found = read(core, ids, lengths)
        alone = [read(core, ids[row : row + 1, :length], [length]) for row, length in enumerate(lengths)]
    assert found.root.isfinite().all()
    words = [[str(t) for t in range(length)] for length in lengths]
    trees = found.parse.trees(words)
    for row, one in enumerate(alone):
        torch.testing.assert_close(found.root[row], one.root[0], rtol=0, atol=1e-10)
        if row != 1:  # one word again and again: its distances are equal but for rounding
            assert one.parse.trees(words[row : row + 1]) == [trees[row]]
        assert sum(not node.children for node in trees[row].preorder()) == lengths[row]


@pytest.mark.parametrize(("name", "options"), [("gumbel_tree", {}), *((name, {"beam_size": 1}) for name in BEAMS)])
def test_of_equal_words_the_first_two_are_joined_first(name: str, options: dict[str, Any]) -> None:
    core = make(name, **options).eval()
    assert order_of(read(core, torch.full((1, 6), 4), [6]), 0, 6)[0] == 0


@pytest.mark.parametrize("form", [*FORMS, "on_lstm", "ordered_memory"])
def test_gradients_are_those_of_finite_differences(form: str) -> None:
    core = make(form).train("OneSoft" in form)
    direction = [
        torch.randn(p.shape, dtype=p.dtype, generator=torch.Generator().manual_seed(3)) for p in core.parameters()
    ]

    @torch.no_grad()
    def value(step: float) -> Tensor:
        for parameter, of in zip(core.parameters(), direction, strict=True):
            parameter.add_(of, alpha=step)
        found = read(core)
        for parameter, of in zip(core.parameters(), direction, strict=True):
            parameter.sub_(of, alpha=step)
        return weighed(found.root) + found.loss

    found, step = read(core), 1e-6
    expected = gradient(core, weighed(found.root) + found.loss) @ torch.cat([of.flatten() for of in direction])
    slope = (value(step) - value(-step)).item() / (2 * step)
    assert slope == pytest.approx(expected.item(), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("bias", [8, 13])
def test_the_gradient_of_crvnn_is_that_of_its_pass_where_scores_are_large(bias: int) -> None:
    """Of two words, and by the score alone: there 4e-8 is no longer small next to exp(-M), and so M matters."""
    core = make("crvnn")
    with torch.no_grad():
        core.second.bias.add_(bias)

    def value() -> Tensor:
        return weighed(core.encoded(IDS[:, :2], torch.full((7,), 2)).root)

    [expected] = torch.autograd.grad(value(), core.second.bias)
    with torch.no_grad():
        core.second.bias.add_(1e-3)
        above = value()
        core.second.bias.sub_(2e-3)
        slope = (above - value()) / 2e-3
    assert slope.item() == pytest.approx(expected.item(), rel=1e-5)


@pytest.mark.parametrize("name", INDUCING)
def test_a_trace_is_given_on_demand_and_changes_nothing(name: str) -> None:
    core = make(name)
    assert read(core).trace is None
    traced = read(core, trace=True)
    assert torch.equal(traced.root, read(core).root)
    assert all(len(part) == 7 for part in (traced.trace or {}).values())
    assert (traced.trace is None) == (name in ("balanced_tree", "easy_first"))


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("beam_tree", {"beam_size": 0}, "beam_size is 0; it must be a whole number, 1 or more"),
        ("beam_tree", {"cell": "gru"}, "cell is 'gru'; it must be one of grc, tree_cell, tree_rnn, tree_lstm"),
        ("efficient_beam_tree", {"slice_size": 0}, "slice_size is 0"),
        ("gumbel_tree", {"temperature": 0.0}, "temperature is 0.0; it must be above 0"),
        ("gumbel_tree", {"score": "best"}, "score is 'best'; it must be one of query, linear, children"),
        ("gumbel_tree", {"composed": "best"}, "composed is 'best'; it must be one of pairs, mixture"),
        ("gumbel_tree", {"composed": "mixture"}, "composed is 'mixture', but the score 'query' needs"),
        ("gumbel_tree", {"leaf": "best"}, "leaf is 'best'; it must be one of linear, lstm, both"),
        (
            "gumbel_tree",
            {"leaf": "lstm", "cell": "grc"},
            "leaf='lstm' computes h and c, which needs the cell tree_lstm, not",
        ),
        (
            "gumbel_tree",
            {"attention": True, "chunk_size": 4},
            "attention reads all nodes of one tree; leave out attention or chunk_size",
        ),
        ("beam_tree", {"handed_on": "best"}, "handed_on is 'best'; it must be one of drawn, ranked, random, mean"),
        (
            "beam_tree",
            {"handed_on": "random"},
            "handed_on is 'random', but states are handed on only between chunks: give a chunk_size",
        ),
        ("beam_tree", {"draw_seed": -1}, "draw_seed is -1; it must be from 0 to 2147483647"),
        ("balanced_tree", {"chunk_size": 1}, "chunk_size is 1; it must be a whole number, 2 or more, or None"),
        ("crvnn", {"chunk_size": "many"}, "chunk_size is 'many'; it must be a whole number, 2 or more, or None"),
        ("crvnn", {"version": "best"}, "version is 'best'; it must be one of first, later"),
        ("crvnn", {"gelu": "relu"}, "gelu is 'relu'; it must be one of erf, tanh"),
        ("crvnn", {"gelu": "tanh"}, "gelu='tanh' needs version='first' and the cell grc, not"),
        ("crvnn", {"gelu": "tanh", "version": "first", "cell": "tree_rnn"}, "not 'first' and tree_rnn"),
        ("crvnn", {"merged_by": "best"}, "merged_by is 'best'; it must be one of probability, existence"),
        ("crvnn", {"neighbours": "best"}, "neighbours is 'best'; it must be one of cut, product"),
        ("balanced_tree", {"cell_dropout": 1.0}, "dropout is 1.0"),
        ("balanced_tree", {"embedding_size": 0}, "embedding_size is 0"),
    ],
)
def test_impossible_options_are_refused(name: str, options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        SEQUENCE_ENCODERS[name](8, 6, **options)


def test_forget_gates_of_leaf_lstms_are_open_at_first() -> None:
    for cell in SEQUENCE_ENCODERS["gumbel_tree"](8, 6, leaf="both").leaf.cells:
        assert cell.bias_ih.tolist() == [0] * 3 + [1] * 3 + [0] * 6
        assert not cell.bias_hh.any()


def test_two_directions_of_leaves_share_an_even_width() -> None:
    with pytest.raises(ValueError, match="hidden_size is 5; it must be even, half of it for each direction"):
        SEQUENCE_ENCODERS["gumbel_tree"](8, 5, leaf="both")


@pytest.mark.parametrize("cell", ["grc", "tree_lstm", "tree_rnn"])
@pytest.mark.parametrize("name", JOINING)
def test_in_mixed_precision_most_trees_are_those_of_full_precision(name: str, cell: str) -> None:
    ids, lengths = torch.randint(3, 30, (16, 40), generator=torch.Generator().manual_seed(0)), torch.full((16,), 40)
    torch.manual_seed(1)
    core: Any = SEQUENCE_ENCODERS[name](30, 32, cell=cell).eval()
    with torch.no_grad():
        full = core.encoded(ids, lengths)
        with torch.autocast("cpu", torch.bfloat16):
            mixed = core.encoded(ids, lengths, trace=True)
    assert {part.dtype for part in (mixed.root, *(mixed.trace or {}).values())} == {torch.float32}
    words = [[str(t) for t in range(40)]] * 16
    same = [one == other for one, other in zip(full.parse.trees(words), mixed.parse.trees(words), strict=True)]
    assert sum(same) >= 8, "none or one where scores are rounded to bfloat16"


@pytest.mark.parametrize("name", ["gumbel_tree", *BEAMS])
def test_with_dropout_every_word_has_a_mask_of_its_own(name: str) -> None:
    core = make(name, dropout=0.5).train()
    ids = torch.full((1, 2), 4)
    words = [core.words(ids)[0] for _ in range(20)]
    assert any((one[0] != one[1]).any() for one in words)
    first, second = (read(core, ids.repeat(2, 1), [2, 2]).root for _ in range(2))
    assert (first[0] != first[1]).any() or (second[0] != second[1]).any()


def test_embeddings_are_dropped_in_front_of_a_state_space_too() -> None:
    core = make("efficient_beam_tree, beams drawn, S4D", dropout=0.5)
    read: list[Tensor] = []
    core.front.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    for mode in (core.train, core.eval):
        mode()
        core.items(IDS, torch.tensor(LENGTHS))
    dropped, whole = read
    assert torch.equal(whole, core.embedding(IDS))
    assert 0.3 < float((dropped == 0).double().mean()) < 0.7
    torch.testing.assert_close(dropped[dropped != 0], 2 * whole[dropped != 0])
