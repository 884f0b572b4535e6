"""From a decision to the model that is trained, with its first weights."""

from collections import Counter

import torch

from dgltree.batching.vocabulary import Vocabulary
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.deciding import Decision
from dgltree.training.encoder_choice import token_vectors
from dgltree.training.stepping.module import TreeTraining


def build(decision: Decision) -> TreeTraining:
    """The model of a decision, whose weights follow from its seed.

    Raises ``ValueError`` for options that the encoder has not.
    """
    options, choice, strength = decision.options, decision.encoder, decision.options.token_dropout
    train = decision.splits["train"]
    shares = _dropout_shares(train, choice.vocabulary, strength) if strength else (None, None)
    torch.manual_seed(options.seed)
    encoder = choice.made()
    model = decision.model(encoder, decision.readout(**decision.readout_options), decision.objective.classes)
    if options.frozen:
        token_vectors(encoder).requires_grad_(False)
    return TreeTraining(model, decision.objective, options, *shares)


def _dropout_shares(train: TreeDataset, vocabulary: Vocabulary, strength: float) -> tuple[torch.Tensor, torch.Tensor]:
    """(T,) and (F,) float32, with which probability each token and each function is dropped."""
    functions, tokens = stands_at((block.trees for block in train.blocks()), vocabulary)
    names = [name for name, _ in vocabulary.functions]
    of_names: Counter[str] = Counter()
    for name, count in zip(names, functions.tolist(), strict=True):
        of_names[name] += count
    by_name = torch.tensor([of_names[name] for name in names])
    return strength / (strength + tokens.float()), strength / (strength + by_name.float())
