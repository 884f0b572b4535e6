"""A step of beams by kernels: drawn networks and sentences give what torch's operations give, whichever part is which.

What torch's operations give is compared with a literal form in test_latent_trees.py.
"""

import random
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from dgltree.encoders import SEQUENCE_ENCODERS
from dgltree.encoders.latent import beams
from dgltree.encoders.latent import beams as compiled_beams
from dgltree.encoders.latent.choice import leftmost_best, tolerance
from dgltree.encoders.latent.nodes import NODE, UNBUILT, BeamNumbers, PairTable
from dgltree.engine.kernels.dispatch import kernels

pytest.importorskip("numba")

from dgltree.engine.kernels import numba_beams


def drawn(seed: int) -> tuple[Any, Tensor, Tensor]:
    """A network, and ids and lengths in any order, some words again and again."""
    draw = random.Random(seed)
    name = draw.choice(["beam_tree", "efficient_beam_tree", "efficient_beam_tree"])
    options: dict[str, Any] = {
        "beam_size": draw.choice([1, 2, 3, 5, 9]),
        "noise": draw.random() < 0.6,
        "cell": draw.choice(["grc", "tree_lstm", "tree_rnn"]),
        "cell_dropout": draw.choice([0.0, 0.0, 0.3]),
        "dropout": draw.choice([0.0, 0.2]),
    }
    if draw.random() < 0.4:
        options |= {"chunk_size": 3, "handed_on": draw.choice(["drawn", "ranked"])}
    if name == "beam_tree":
        options["one_soft"] = draw.random() < 0.3
    else:
        options["slice_size"] = draw.choice([None, 1, 4])
    torch.manual_seed(seed)
    core: Any = SEQUENCE_ENCODERS[name](8, draw.choice([4, 6, 11]), **options)
    with torch.no_grad():  # so that some choices are sure and others not
        for parameter in core.parameters():
            parameter.mul_(draw.choice([0.5, 1.5, 3.0]))
    lengths = torch.tensor([draw.choice([1, 2, 3, 5, 8, 12]) for _ in range(draw.choice([1, 6]))])
    words = draw.choice([1, 2, 5])
    ids = torch.tensor([[3 + draw.randrange(words) for _ in range(int(lengths.max()))] for _ in lengths])
    return core.double().train(draw.random() < 0.7), ids, lengths


def compute(core: Any, ids: Tensor, lengths: Tensor, mode: str) -> tuple[list[Tensor], list[Tensor]]:
    """What it finds, and all gradients; last the state of the random numbers, so that no draw is left out."""
    core.zero_grad()
    torch.manual_seed(3)
    with kernels(mode):
        found = core.encoded(ids, lengths, True)
    totals = (found.trace or {}).get("totals", found.root[:, :0])
    totals = totals.where(found.parse.weights > 0, 0) if totals.numel() else totals  # of beams that are there
    (found.root.sin().sum() + totals.exp().sum()).backward()
    values = [found.root, found.parse.orders, found.parse.weights, totals, torch.get_rng_state()]
    return values, [p.grad.clone() for p in core.parameters() if p.grad is not None]


@pytest.mark.parametrize(("seed", "part"), [(seed, ["both", "both", "choice", "join"][seed % 4]) for seed in range(80)])
def test_states_trees_totals_and_gradients_are_those_of_torch(
    seed: int, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    core, ids, lengths = drawn(seed)
    plain, expected = compute(core, ids, lengths, "off")
    if part == "join":  # as for a model on a GPU
        monkeypatch.setattr(beams, "beam_kernel", lambda scores: None)
    if part == "choice":
        monkeypatch.setattr(beams.Nodes, "joins_by_kernel", False)
    found, gradients = compute(core, ids, lengths, "on")
    for one, other in zip([*found, *gradients], [*plain, *expected], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-11)


def test_kernels_compute_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    for kernel, name in ((numba_beams.BeamKernel, "choose"), (numba_beams.PairKernel, "join")):
        by_kernel = getattr(kernel, name)
        monkeypatch.setattr(kernel, name, lambda *given, n=name, f=by_kernel: (called.append(n), f(*given))[1])
    core = SEQUENCE_ENCODERS["efficient_beam_tree"](8, 4)
    core(torch.full((2, 6), 3), torch.tensor([6, 4]))
    assert called == ["choose", "join"] * 5
    called.clear()
    core.half()(torch.full((2, 6), 3), torch.tensor([6, 4]))
    assert called == ["join"] * 5, "the choice among scores in half precision is torch's"


def test_a_second_derivative_is_refused() -> None:
    core = SEQUENCE_ENCODERS["efficient_beam_tree"](8, 4)
    root = core(torch.tensor([[3, 4, 5, 6]]), torch.tensor([4]))
    weight = core.score.first.weight
    [gradient] = torch.autograd.grad(root.sin().sum(), weight, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative"):
        gradient.sum().backward()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_best_are_those_of_torch(dtype: type) -> None:
    """Among them equal scores, scores a rounding apart, and nothing at all."""
    generator = np.random.default_rng(0)
    for _ in range(300):
        size = int(generator.integers(1, 12))
        scores = (generator.integers(-3, 4, size) * generator.choice([1e-3, 1, 1e4])).astype(dtype)
        scores *= 1 + generator.integers(-2, 3, size).astype(dtype) * np.finfo(dtype).eps
        scores[generator.random(size) < 0.2] = -np.inf
        found = np.empty(int(generator.integers(1, size + 1)), np.int64)
        expected = leftmost_best(torch.from_numpy(scores.copy()), len(found)).tolist()
        numba_beams.leftmost_best(scores, tolerance(torch.from_numpy(scores).dtype), found)
        assert found.tolist() == expected


def test_without_a_number_among_the_scores_there_are_places_all_the_same() -> None:
    found = np.empty(3, np.int64)
    numba_beams.leftmost_best(np.array([np.nan, 1.0, np.nan]), 1e-9, found)
    assert sorted(found) == [0, 1, 2]


@pytest.mark.parametrize("mode", ["on", "off"])
@pytest.mark.parametrize("name", ["beam_tree", "efficient_beam_tree"])
def test_states_that_are_no_numbers_stay_so(name: str, mode: str) -> None:
    core = SEQUENCE_ENCODERS[name](8, 4)
    with torch.no_grad():
        next(core.score.parameters()).fill_(float("nan"))
    with kernels(mode):
        assert core(torch.tensor([[3, 4, 5, 6]]), torch.tensor([4])).isnan().all()


def test_pairs_have_the_numbers_of_a_dictionary_however_many_there_are() -> None:
    draw, known, table = random.Random(0), dict[tuple[int, int], int](), PairTable(1)
    for _ in range(200):
        far = draw.choice([3, 40, 2**31 - 1])
        asked = [(draw.randrange(far), draw.randrange(far)) for _ in range(draw.randrange(20))]
        numbers = [known.setdefault(pair, len(known)) for pair in asked]
        left, right = torch.tensor(asked, dtype=torch.int64).view(-1, 2).unbind(1)
        assert table.number(left, right).tolist() == numbers
    assert len(known) > 1000
    assert table.table.tolist() == [[*pair, UNBUILT] for pair in known]
    table.table[:, NODE] = 7
    table.number(torch.arange(5000), torch.arange(5000))
    assert (table.table[: len(known), NODE] == 7).all(), "nodes stay where the table has grown"


def test_room_is_made_for_what_beams_add() -> None:
    core = SEQUENCE_ENCODERS["efficient_beam_tree"](8, 4, beam_size=40).eval()
    with torch.no_grad():
        many = core(torch.tensor([[3, 4, 5, 6, 7] * 6]), torch.tensor([30]))
        with kernels("off"):
            torch.testing.assert_close(core(torch.tensor([[3, 4, 5, 6, 7] * 6]), torch.tensor([30])), many)


def test_one_compiled_choice_has_its_gradient() -> None:
    """By differences: scores of a table, and totals of beams of which one is not there."""
    scores = torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    total = torch.tensor([[0.3, -0.2, 5.0]], dtype=torch.float64, requires_grad=True)
    pairs = torch.tensor([[[0, 1, 2, 5], [3, 1, 4, 0], [2, 2, 2, 2]]])

    def value(scores: Tensor, total: Tensor) -> Tensor:
        table = compiled_beams.Table(1, scores, 1)
        table.write(scores.unsqueeze(1))
        kernel = compiled_beams.beam_kernel(table)
        assert kernel is not None
        usable = torch.tensor([[True, True, False]])
        numbers = BeamNumbers(rows=torch.empty(0), pairs=pairs, gaps=torch.empty(0))
        open_beams = compiled_beams.OpenBeams(numbers, total, usable, alive=usable)
        _, found = compiled_beams.choose_by_kernel(kernel, table, open_beams, torch.tensor([3]), 4, False)
        return found

    assert torch.autograd.gradcheck(value, (scores, total))
