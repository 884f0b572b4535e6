"""From a decision to the model that is trained, with its first weights."""

from collections import Counter

import torch
from torch import Tensor

from dgltree.batching.token_parts import part_table
from dgltree.batching.vocabulary import NO_LABEL, Vocabulary
from dgltree.datasets.translation import stands_at
from dgltree.encoders import TreeEncoder
from dgltree.training.deciding import Decision
from dgltree.training.encoder_choice import token_vectors
from dgltree.training.stepping.module import TreeTraining
from dgltree.training.unseen_functions import find_unseen_functions


def build(decision: Decision) -> TreeTraining:
    """The model of a decision, whose weights follow from its seed.

    Raises ``ValueError`` for options that the encoder has not.
    """
    options, choice, strength = decision.options, decision.encoder, decision.options.token_dropout
    train = decision.splits["train"]
    functions, tokens = stands_at((block.trees for block in train.blocks()), choice.vocabulary)
    dropped: tuple[Tensor | None, Tensor | None] = (None, None)
    if strength:
        dropped = _dropout_shares(functions, tokens, choice.vocabulary, strength)
    torch.manual_seed(options.seed)
    encoder = choice.made()
    model = decision.model(encoder, decision.readout(**decision.readout_options), decision.objective.classes)
    if options.frozen:
        frozen = token_vectors(encoder) if options.from_ is None else encoder
        frozen.requires_grad_(False)
    maps = find_unseen_functions(encoder.cell, functions) if isinstance(encoder, TreeEncoder) else []
    targets = decision.objective.targets(decision.splits["validation"].labels)
    nodes_choose = options.nodes and len(targets.unique()) < 2  # every epoch would be right at roots of one class
    if nodes_choose:
        labels = torch.cat([block.trees.label for block in decision.splits["validation"].blocks()])
        targets = labels[labels != NO_LABEL]
    nothing = decision.objective.nothing(targets)
    return TreeTraining(model, decision.objective, options, *dropped, maps, nothing, nodes_choose)


def _dropout_shares(
    functions: Tensor, tokens: Tensor, vocabulary: Vocabulary, strength: float
) -> tuple[Tensor, Tensor]:
    """(T,) and (F,) float32, with which probability each token and each function is dropped.

    Args:
        functions, tokens: (F,) and (T,) int64, the nodes of the training set that have them.
        vocabulary, strength: of the model and of the dropout.
    """
    parts = part_table(vocabulary.tokens) if vocabulary.parts else None
    if parts is not None:  # of a node with a token of two words, each of them occurs
        counts = tokens.unsqueeze(1).expand_as(parts)[parts >= 0]
        tokens = tokens.index_add(0, parts[parts >= 0], counts)
    names = [name for name, _ in vocabulary.functions]
    of_names: Counter[str] = Counter()
    for name, count in zip(names, functions.tolist(), strict=True):
        of_names[name] += count
    by_name = torch.tensor([of_names[name] for name in names])
    return strength / (strength + tokens.float()), strength / (strength + by_name.float())
