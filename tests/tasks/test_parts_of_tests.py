"""Accuracies of a test by groups, by parts and by further sets: each of its own examples."""

from collections.abc import Mapping
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

pytest.importorskip("lightning", reason="the train extra is not installed")
from dgltree import TreeBatch
from dgltree.encoders.encoded import Encoded
from tasks.classifier import EncoderClassifier

LABELS = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1])
SAID = torch.tensor([0, 1, 0, 0, 1, 1, 0, 0])
ODD = torch.tensor([1, 3, 5, 7])


class Given(nn.Module):
    """An encoder whose states are the answers."""

    induces_trees = False

    def encoded(self, found: Tensor, share: bool) -> Encoded:
        return Encoded(nn.functional.one_hot(found, 2).double())


class Parted(EncoderClassifier):
    group = "length"

    def parts(self, trees: TreeBatch) -> Mapping[str, Tensor]:
        places = torch.arange(len(trees))  # type: ignore[arg-type]
        return {"odd": places % 2 == 1, "first": places == 0, "none": places < 0}

    def _set_names(self) -> tuple[str, ...]:
        return ("more",)


def share(rows: Tensor) -> float:
    return float((LABELS[rows] == SAID[rows]).double().mean())


def test_each_part_has_the_accuracy_of_its_own_examples() -> None:
    module, logged = Parted(Given(), nn.Identity(), classes=2), {}
    module.log = lambda name, value, **_: logged.update({name: float(value)})  # type: ignore[method-assign]
    module.on_test_epoch_start()
    groups = torch.tensor([3, 3, 5, 5, 5, 5, 3, 3])
    one = SimpleNamespace(inputs=SAID, labels=LABELS, groups=groups, trees=SAID)
    module.test_step(one, 0)
    other = SimpleNamespace(inputs=SAID[:3], labels=LABELS[:3], groups=groups[:3], trees=SAID[:3])
    module.test_step(other, 0, dataloader_idx=1)
    module.on_test_epoch_end()
    assert logged["test_accuracy"] == pytest.approx(share(torch.arange(8)))
    assert logged["test_odd"] == pytest.approx(share(ODD)) != logged["test_accuracy"]
    assert logged["test_first"] == 1 and "test_none" not in logged
    assert logged["test_more_set"] == pytest.approx(2 / 3)
    by_length = {name: value for name, value in logged.items() if "length" in name}
    assert sorted(by_length.values()) == pytest.approx(sorted(share(groups == length) for length in (3, 5)))
