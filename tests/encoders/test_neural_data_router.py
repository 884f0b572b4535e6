"""The Neural Data Router against a literal form: loops over places, heads and distances, one number after the other."""

from math import exp

import pytest
import torch
from torch import Tensor

from dgltree.encoders.sequence import neural_data_router
from dgltree.encoders.sequence.neural_data_router import SequenceNeuralDataRouter, nearest_first

SIZE = 7
pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture
def float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def core(**options) -> SequenceNeuralDataRouter:
    torch.manual_seed(3)
    made = SequenceNeuralDataRouter(SIZE, 12, **{"num_layers": 3, "num_heads": 3, **options})
    with torch.no_grad():
        made.layer.attention.query_bias.normal_()
        made.layer.attention.scale.copy_(torch.tensor([0.7, 1.3, -0.4]))
        made.layer.gate[-1].bias.normal_()
    return made


def literal(made: SequenceNeuralDataRouter, words: list[int], steps: int) -> Tensor:
    """(T + 2, n), the states of start, words and end."""
    layer, attention = made.layer, made.layer.attention
    states = [made.embedding.weight[i] for i in (SIZE + 1, *words, SIZE)]
    for _ in range(steps):
        new = []
        for i, x in enumerate(states):
            heads = []
            for head in range(3):
                rows = slice(4 * head, 4 * head + 4)
                query = attention.query.weight[rows] @ x + attention.query_bias[head]
                left, right = (
                    attention.side.weight[2 * head : 2 * head + 2] @ x + attention.side.bias[2 * head : 2 * head + 2]
                )
                rest, value = torch.tensor(1.0), torch.zeros(4)
                for distance in range(1, len(states)):
                    for j in (i + distance, i - distance):
                        if 0 <= j < len(states):
                            match = query @ (attention.key.weight[rows] @ states[j])
                            a, b, c = attention.scale
                            taken = 1 / (1 + (-(a * match + b * (right if j > i else left) + c)).exp())
                            value = value + rest * taken * (attention.value.weight[rows] @ states[j])
                            rest = rest * (1 - taken)
                heads.append(value)
            u = _norm(x + attention.output.weight @ torch.cat(heads), layer.attended)
            f = _norm(_two(u, layer.update), layer.written)
            g = 1 / (1 + (-_two(u, layer.gate)).exp())
            new.append((1 - g) * x + g * f)
        states = new
    return torch.stack(states)


def _norm(x: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
    centred = x - x.sum() / len(x)
    return centred / (centred.square().sum() / len(x) + 1e-5).sqrt() * norm.weight + norm.bias


def _two(x: Tensor, maps: torch.nn.Sequential) -> Tensor:
    hidden = (maps[0].weight @ x + maps[0].bias).clamp(min=0)
    return maps[3].weight @ hidden + maps[3].bias


@pytest.mark.parametrize("read_at", ["last", "first"])
@pytest.mark.parametrize("lengths", [[5, 1, 3], [1], [9, 9]])
def test_states_and_gradients_are_those_of_the_literal_form(read_at: str, lengths: list[int]) -> None:
    made = core(read_at=read_at)
    ids = torch.randint(SIZE, (len(lengths), max(lengths)))
    found = made(ids, torch.tensor(lengths))
    wanted = torch.stack(
        [
            literal(made, row[:n].tolist(), 3)[0 if read_at == "first" else -1]
            for row, n in zip(ids, lengths, strict=True)
        ]
    )
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-13)
    weights = torch.randn_like(found)
    mine, literals = (torch.autograd.grad((of * weights).sum(), list(made.parameters())) for of in (found, wanted))
    for a, b in zip(mine, literals, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_more_layers_in_evaluation() -> None:
    made = core(test_layers=5)
    ids, lengths = torch.tensor([[1, 4, 2]]), torch.tensor([3])
    torch.testing.assert_close(made(ids, lengths)[0], literal(made, [1, 4, 2], 3)[-1], rtol=0, atol=1e-13)
    made.eval()
    torch.testing.assert_close(made(ids, lengths)[0], literal(made, [1, 4, 2], 5)[-1], rtol=0, atol=1e-13)


def test_a_trace_has_the_gates_and_what_is_attended_to() -> None:
    made = core().eval()
    ids, lengths = torch.tensor([[1, 4, 2], [3, 0, 0]]), torch.tensor([3, 1])
    found = made.encoded(ids, lengths, trace=True)
    torch.testing.assert_close(found.root, made(ids, lengths), rtol=0, atol=1e-14)
    attention, gates = found.trace["attention"], found.trace["gates"]
    assert attention.shape == (2, 3, 3, 5, 5)
    assert gates.shape == (2, 3, 5)
    assert (attention.diagonal(dim1=-2, dim2=-1) == 0).all()
    assert (attention[1, ..., 3:] == 0).all()  # padding
    assert (attention.sum(-1) <= 1).all()
    assert ((gates > 0) & (gates < 1)).all()


def test_keys_take_what_nearer_ones_left_and_the_right_one_is_first() -> None:
    logits = torch.zeros(1, 1, 4, 4)  # each takes half of what is left
    found = nearest_first(logits, torch.zeros(1, 4, dtype=torch.bool))[0, 0]
    torch.testing.assert_close(found[1], torch.tensor([1 / 4, 0, 1 / 2, 1 / 8]))
    torch.testing.assert_close(found[3], torch.tensor([1 / 8, 1 / 4, 1 / 2, 0]))
    sure = nearest_first(torch.full((1, 1, 4, 4), 1000.0), torch.zeros(1, 4, dtype=torch.bool))[0, 0]
    torch.testing.assert_close(sure[0], torch.tensor([0.0, 1, 0, 0]))
    assert float(found[0].sum()) == pytest.approx(1 - exp(-3 * 0.6931471805599453))


def test_the_gate_copies_where_it_is_dropped_in_training() -> None:
    made = core(gate_dropout=0.999999, num_layers=1)
    ids, lengths = torch.tensor([[1, 4, 2]]), torch.tensor([3])
    torch.testing.assert_close(made(ids, lengths)[0], made.embedding.weight[SIZE])
    assert (made.eval()(ids, lengths)[0] - made.embedding.weight[SIZE]).abs().max() > 0.1


def test_the_layer_has_as_many_parameters_as_the_programs() -> None:
    layer = SequenceNeuralDataRouter(19, 256, num_heads=1, feedforward_size=512).layer
    assert sum(p.numel() for p in layer.parameters()) == 723_973 - 256 * 256  # its map of positions is never used


def test_too_long_sequences_are_refused_with_the_memory_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neural_data_router, "available_bytes", lambda device: 10**9)
    with pytest.raises(
        ValueError, match=r"attention of 2 sequences of up to 1000 words would need about [\d.]+ GB; 1 GB are"
    ):
        core()(torch.zeros(2, 1000, dtype=torch.int64), torch.tensor([1000, 999]))
