"""Encoders that read whole equations."""

from dataclasses import replace

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import Tree, Vocabulary, batch, read_equation
from dgltree.datasets.batches import Labelled
from tasks.equations.compositionality.substitutivity import hidden_states
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.whole import EQUALS, join_sides
from tasks.equations.vocabulary import vocabulary

TEXTS = ["sin(var_0)^2 + cos(var_0)^2 = 1", "var_0 = var_0", "2*var_1 = var_1 + 1*var_1"]
WIDER = Vocabulary([*vocabulary().functions, EQUALS], vocabulary().tokens)
OPTIONS = {"lstm": {}, "transformer": {"num_heads": 2}, "tree_transformer": {"path_length": 4, "num_heads": 2}}


def sides(texts):
    return batch([side for text in texts for side in read_equation(text)], vocabulary())


def test_two_sides_become_the_tree_below_the_equals_sign():
    whole = [Tree("=", read_equation(text)) for text in TEXTS]
    found, expected = join_sides(sides(TEXTS), WIDER), batch(whole, WIDER)
    for name in ("function", "token", "child_ptr", "child_index", "level", "roots", "sizes", "label"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name
    with pytest.raises(ValueError, match="3 trees are not pairs of sides"):
        join_sides(batch([*read_equation(TEXTS[0]), Tree("Symbol", token="var_0")], vocabulary()), WIDER)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_encoder_sees_both_sides_at_once(name):
    torch.manual_seed(0)
    module = EquationClassifier(vocabulary(), name, hidden_size=16, options=OPTIONS[name], whole=True).eval()
    with torch.no_grad():
        alone = torch.cat([module(sides([text])) for text in TEXTS])
        together = module(sides(TEXTS))
        planned = module(module.plan(sides(TEXTS)))
        swapped = module(sides(["1 = sin(var_0)^2 + cos(var_0)^2"]))
    assert torch.allclose(alone, together, atol=1e-5)
    assert torch.equal(together, planned)
    assert together.shape == (3,)
    assert abs(swapped - together[0]) > 1e-6  # a product of two vectors would not know the order
    states = hidden_states(module, [*read_equation(TEXTS[0])])
    assert states.shape == (2, 16)


@pytest.mark.parametrize("whole", [False, True])
def test_what_an_encoder_adds_to_the_loss_is_learnt_from(whole, monkeypatch):
    module = EquationClassifier(vocabulary(), "lstm", hidden_size=8, whole=whole).eval()
    flat = sides(TEXTS)
    labelled = Labelled(flat, torch.tensor([1.0, 0.0, 1.0]), torch.tensor([3, 1, 2]))
    logits, encoded = module(flat), module.encoder.encoded
    expected = torch.nn.functional.softplus(torch.where(labelled.labels == 1, -logits, logits))
    torch.testing.assert_close(module.losses(labelled), expected)
    monkeypatch.setattr(
        module.encoder, "encoded", lambda *given: replace(encoded(*given), losses={"own": torch.full((3,), 0.25)})
    )
    torch.testing.assert_close(module.losses(labelled), expected + 0.25)
