"""Words in context: parent attention over the nodes of all beams, against its equations."""

from typing import Any

import pytest
import torch
from context_oracle import ancestors_asked, words_in_context
from torch import Tensor

from dgltree.encoders import SequenceEfficientBeamTree

LENGTHS = torch.tensor([1, 2, 5, 4])
IDS = torch.randint(3, 8, (4, 5), generator=torch.Generator().manual_seed(1))


def make(**options: Any) -> Any:
    torch.manual_seed(5)
    given = {"beam_size": 3, "noise": False, "in_context": True, **options}
    core = SequenceEfficientBeamTree(8, 6, **given).double()
    with torch.no_grad():
        for parameter in core.parameters():
            parameter.mul_(1.5)
        if core.context is not None:
            core.context.scale.normal_()  # so that who is asked matters
    return core


def gradient(core: Any, words: Tensor) -> Tensor:
    core.zero_grad()
    (words * torch.arange(1, words.numel() + 1, dtype=words.dtype).view_as(words).cos()).sum().backward()
    return torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in core.parameters()])


@pytest.mark.parametrize("options", [{}, {"cell": "tree_lstm"}, {"beam_size": 1}])
@pytest.mark.parametrize("training", [True, False])
def test_words_and_gradients_are_those_of_the_equations(options: dict[str, Any], training: bool) -> None:
    core = make(**options).train(training)
    found = core.words_in_context(IDS, LENGTHS)
    there = torch.arange(5) < LENGTHS.unsqueeze(1)
    rows = zip(IDS.tolist(), LENGTHS.tolist(), strict=True)
    expected = torch.stack([x for row, length in rows for x in words_in_context(core, row[:length], training)])
    torch.testing.assert_close(found[there], expected, rtol=0, atol=1e-10)
    assert not found[~there].any()
    torch.testing.assert_close(gradient(core, found[there]), gradient(core, expected), rtol=0, atol=1e-9)


def test_words_do_not_depend_on_the_batch_and_the_last_one_asks_too() -> None:
    core, ids = make().eval(), torch.randint(3, 8, (3, 40), generator=torch.Generator().manual_seed(2))
    lengths = torch.tensor([40, 17, 3])
    with torch.no_grad():
        found = core.words_in_context(ids, lengths)
        for row, length in enumerate(lengths.tolist()):
            alone = core.words_in_context(ids[row : row + 1, :length], lengths[row : row + 1])
            torch.testing.assert_close(found[row, :length], alone[0], rtol=0, atol=1e-12)
            assert (alone[0, -1] - core.words(ids[row, length - 1])).abs().max() > 1e-3


def test_the_same_word_has_other_vectors_at_other_places_and_the_sentence_is_as_without() -> None:
    core, plain = make().eval(), make(in_context=False).eval()
    plain.load_state_dict({k: v for k, v in core.state_dict().items() if not k.startswith("context.")})
    ids, lengths = torch.tensor([[4, 5, 4, 6]]), torch.tensor([4])
    with torch.no_grad():
        [words] = core.words_in_context(ids, lengths)
        assert (words[0] - words[2]).abs().max() > 1e-3
        assert torch.equal(core(ids, lengths), plain(ids, lengths))


def test_the_trace_says_how_much_each_word_asks_each_node_above_it() -> None:
    core = make().eval()
    with torch.no_grad():
        found, plain = core.encoded(IDS, LENGTHS, trace=True), core.encoded(IDS, LENGTHS)
        for row, length in enumerate(LENGTHS.tolist()):
            expected = ancestors_asked(core, IDS[row, :length].tolist())
            asked = found.trace["ancestors"][row]
            for beam, table in enumerate(expected):
                torch.testing.assert_close(asked[beam, :length, : length - 1], table, rtol=0, atol=1e-10)
                assert not asked[beam, :, length - 1 :].any()
    assert torch.equal(found.root, plain.root) and torch.equal(found.parse.orders, plain.parse.orders)
    assert {*make(in_context=False).encoded(IDS, LENGTHS, trace=True).trace} == {"totals"}


def test_nodes_higher_than_ten_count_as_ten_high() -> None:
    unit, x, nodes = make().context, torch.randn(1, 2, 6).double(), torch.randn(1, 3, 6).double()
    below = torch.ones(1, 2, 3, dtype=torch.bool)
    nine, ten, twelve = (unit(x, nodes, below, torch.tensor([[1, 2, high]]))[0] for high in (9, 10, 12))
    assert torch.equal(ten, twelve)
    assert (nine - ten).abs().max() > 1e-3


def test_what_has_no_words_in_context_says_so() -> None:
    with pytest.raises(
        ValueError, match="in_context reads the nodes of whole beams; leave out in_context or chunk_size"
    ):
        make(chunk_size=4)
    with pytest.raises(
        ValueError, match="this encoder computes no word vectors in context: build it with in_context=True"
    ):
        make(in_context=False).words_in_context(IDS, LENGTHS)
    with pytest.raises(ValueError, match="lengths go from 0 to 5; ids"):
        make().words_in_context(IDS, torch.tensor([0, 2, 5, 4]))
