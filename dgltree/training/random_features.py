"""Networks with the weights that they begin with, whose vectors are random features of trees."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import torch

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import TreeModel
from dgltree.training.encoder_choice import choose_encoder
from dgltree.training.options import FitOptions
from dgltree.training.trained_model import TrainedModel


def untrained(data: TreeDataset, settings: Mapping[str, Any]) -> TrainedModel:
    """The model of a training on these trees before its first step, which reads trees and gives vectors.

    Args:
        data: trees, with labels or without.
        settings: of :class:`dgltree.training.options.FitOptions`; others than those of the encoder make no difference.
    """
    known = {field.name for field in fields(FitOptions)}
    options = FitOptions(**{name: value for name, value in settings.items() if name in known})
    choice = choose_encoder(data, options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        encoder = choice.made()
        model = TreeModel(encoder, NumberReadout(choice.hidden_size))
    return TrainedModel(model, choice.read(data).reading)
