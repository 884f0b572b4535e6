"""Short trainings choose settings before the training that counts: scales of labels, and how small sets are learnt.

A tenth of a hundred documents cannot tell a network from a baseline. So each of five folds is answered by networks and
baselines that were fitted to the other four, at each epoch, and what is best over all of these answers is taken: the
number of epochs, and the weight of the baseline (stacking; Wolpert 1992).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltree.batching.vocabulary import NO_LABEL, Vocabulary, part_table
from dgltree.datasets.batches import Collate, NodeBatches
from dgltree.datasets.splitting import stratify
from dgltree.datasets.translation import stands_at
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import TreeEncoder
from dgltree.models.label_scales import SPREAD, spread, worth_trying
from dgltree.models.readouts import NumberReadout
from dgltree.models.tree_model import evaluating, kept_generators
from dgltree.support.arguments import LabelScaleName
from dgltree.training.deciding import SMALL_SET, CrossFit, Decision
from dgltree.training.encoder_choice import token_vectors
from dgltree.training.folder import scale_of
from dgltree.training.objectives import Numbers
from dgltree.training.options import USUAL_EPOCHS, FitOptions
from dgltree.training.processes import say
from dgltree.training.stepping.module import TreeTraining, find_unseen_functions

TRIAL_NODES = 20_000
"""Nodes of the training examples of a short training."""
TRIAL_PASSES = 10
"""How often a short training sees its examples."""
FOLDS = 5
MIN_CROSSED = 20
"""Training documents that cross-fitting needs, or else a fold has too few."""
LEARNT = 0.95
"""Share of the first epoch's loss below which something was learnt."""


def with_scale(decision: Decision, folder: Path) -> Decision:
    """The decision, whose numbers are on the scale that was asked for, or on the best one in validation.

    One that the folder's training has already chosen is kept.
    """
    objective = decision.objective
    asked = decision.options.label_scale
    if not isinstance(objective, Numbers) or not issubclass(decision.readout, NumberReadout):
        if asked not in (None, "none"):
            raise ValueError(f"label_scale is {asked!r}; it works only with the task regress and the readout number")
        return decision
    labels = objective.targets(decision.splits["train"].labels)
    name = asked or scale_of(folder, decision.options, decision.digest) or _best_scale(decision, labels)
    return _on_scale(decision, name, labels)


def _on_scale(decision: Decision, name: LabelScaleName, labels: Tensor) -> Decision:
    assert isinstance(decision.objective, Numbers)
    options = replace(decision.options, label_scale=name)
    return replace(decision, options=options, objective=decision.objective.on(name, labels))


def _best_scale(decision: Decision, labels: Tensor) -> LabelScaleName:
    names = worth_trying(labels)
    if len(names) == 1:
        return names[0]
    some = _with_fewer_examples(decision)
    scores = {name: _trial_score(_on_scale(some, name, labels)) for name in names}
    best = max(names, key=lambda name: scores[name])
    listed = ", ".join(f"{name} {scores[name]:.3f}" for name in names)
    say(
        f"some labels are far from all others: labels go from {float(labels.min()):g} to {float(labels.max()):g}, and "
        f"half of all labels lie within {spread(labels) * SPREAD:g}. They are learned on the scale {best!r}, the best "
        f"in short training runs (mean of R2 and rank correlation in validation: {listed}); --label-scale sets it"
    )
    return best


def _with_fewer_examples(decision: Decision) -> Decision:
    """Return the decision with fewer training examples."""
    train = decision.splits["train"]
    [rows, *_] = NodeBatches(train.sizes, TRIAL_NODES, decision.options.seed)
    return replace(decision, splits={**decision.splits, "train": train.select(sorted(rows))})


def _trial_score(decision: Decision) -> float:
    """The mean of R2, at least 0, and rank correlation in validation, after a short training on the CPU."""
    objective = decision.objective
    options = decision.options
    with kept_generators():
        module = build(decision)
        optimizer = torch.optim.AdamW(module.parameters(), lr=module.lr, weight_decay=options.weight_decay or 0.0)
        for epoch in range(TRIAL_PASSES):
            _trial_pass(module, decision.splits["train"], optimizer, options, epoch)
        found = _outputs(module, decision.splits["validation"], options)
    answers = objective.answers(found)
    metrics = objective.evaluation(answers, objective.targets(decision.splits["validation"].labels)).metrics
    r2 = metrics["r2"]
    correlation = metrics["rank_correlation"]
    return (max(0.0, r2) + (0.0 if math.isnan(correlation) else correlation)) / 2


def _trial_pass(
    module: TreeTraining, train: TreeDataset, optimizer: torch.optim.Optimizer, options: FitOptions, epoch: int
) -> None:
    module.train()
    for part in _planned(module, train, options, epoch):
        optimizer.zero_grad()
        loss, _ = module.objective.loss(module(part.inputs, part.features), part.labels, part.weights)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), options.clip)
        optimizer.step()


def _planned(module: TreeTraining, data: TreeDataset, options: FitOptions, epoch: int | None = None) -> Sequence[Any]:
    """Some examples at a time, planned; in an order of the seed and the epoch, if there is one."""
    assert options.batch_nodes is not None
    seed = None if epoch is None else options.seed
    collate = Collate(module.model.classes or None, module.encoder, module.shares_in(epoch is not None))
    return [collate(data.select(rows)) for rows in NodeBatches(data.sizes, options.batch_nodes, seed, epoch or 0)]


def build(decision: Decision) -> TreeTraining:
    """The model of a decision, whose weights follow from its seed.

    Raises ``ValueError`` for options that the encoder has not.
    """
    options = decision.options
    choice = decision.encoder
    strength = decision.options.token_dropout
    train = decision.splits["train"]
    functions, tokens = stands_at((block.trees for block in train.blocks()), choice.vocabulary)
    dropped: tuple[Tensor | None, Tensor | None] = (None, None)
    if strength:
        dropped = _dropout_shares(functions, tokens, choice.vocabulary, strength)
    torch.manual_seed(options.seed)
    encoder = choice.made()
    model = decision.model(encoder, decision.readout(**decision.readout_options), decision.objective.classes)
    if options.token_range is not None:
        for vectors in token_vectors(encoder):
            words = vectors.detach()[-len(choice.vocabulary.tokens) :]  # before them a sequence encoder has other ids
            torch.nn.init.uniform_(words, -options.token_range, options.token_range)
    if options.frozen:
        frozen = token_vectors(encoder) if options.from_ is None else encoder.parameters()
        for weights in frozen:
            weights.requires_grad_(False)
    cells = encoder.cells if isinstance(encoder, TreeEncoder) else []
    maps = [each for cell in cells for each in find_unseen_functions(cell, functions)]
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


def is_crossed(decision: Decision) -> bool:
    """Whether cross-fitting chooses how the documents of a decision are learnt: there are few, and nobody says how."""
    options = decision.options
    is_small = MIN_CROSSED <= len(decision.splits["train"]) < SMALL_SET
    is_alone = options.devices * options.machines == 1
    by_default = options.epochs is None and options.max_time is None and options.schedule == "plateau"
    is_document = decision.splits["train"].reading.schema is not None
    return is_small and is_alone and by_default and is_document and not options.nodes


def cross_fit(decision: Decision) -> Decision:
    """The decision with as many epochs as networks need to answer best what they did not learn from."""
    found = _out_of_fold(decision)
    say(
        f"cross-fitting of {len(found.targets)} training documents in {FOLDS} folds chooses {found.epochs} epochs "
        f"(network loss {found.loss:.3f}) and the weight of the baseline"
    )
    options = replace(decision.options, epochs=found.epochs, patience=found.epochs, halve_after=0)
    return replace(decision, options=options, crossed=found)


def _out_of_fold(decision: Decision) -> CrossFit:
    """The answers to each fold of the training set by a network and a baseline that were fitted to the others.

    The networks of all folds are trained side by side, until the loss over all folds has fallen, and then not for as
    many epochs as a training is patient for.
    """
    train = decision.splits["train"]
    objective = decision.objective
    options = decision.options
    targets = objective.targets(train.labels)
    part = stratify(train, FOLDS, options.seed)
    held = [np.flatnonzero(part == fold) for fold in range(FOLDS)]
    splits = [{"train": train.select(part != fold), "validation": train.select(held[fold])} for fold in range(FOLDS)]
    with kept_generators():
        modules = [build(replace(decision, splits=each)) for each in splits]
        optimizers = [
            torch.optim.AdamW(module.parameters(), lr=module.lr, weight_decay=options.weight_decay or 0.0)
            for module in modules
        ]
        losses: list[float] = []
        best = torch.empty(0)
        for epoch in range(USUAL_EPOCHS):
            outputs = torch.zeros(len(train), *objective.shape)
            for module, optimizer, each, rows in zip(modules, optimizers, splits, held, strict=True):
                _trial_pass(module, each["train"], optimizer, options, epoch)
                outputs[rows] = _outputs(module, each["validation"], options)
            losses.append(objective.answer_loss(objective.answers(outputs), targets))
            if losses[-1] == min(losses):
                best = outputs
            elif min(losses) < LEARNT * losses[0] and epoch - int(np.argmin(losses)) >= options.patience:
                break
    baseline = None if options.no_baseline else _baseline_out_of_fold(decision, splits, held)
    return CrossFit(
        epochs=1 + int(np.argmin(losses)), loss=min(losses), network=best, baseline=baseline, targets=targets
    )


def _baseline_out_of_fold(
    decision: Decision, splits: Sequence[dict[str, TreeDataset]], held: Sequence[np.ndarray]
) -> Tensor | None:
    """(E, ...) what baselines give for the folds that they were not fitted to; None without scikit-learn."""
    try:
        from dgltree.training.baseline.selection import choose
    except ModuleNotFoundError:
        return None
    objective = decision.objective
    places = decision.encoder.vocabulary.scales
    fast = decision.options.baseline == "fast"
    parts = []
    for each in splits:
        fitted = choose(each["train"], objective, [objective.scale], places, fast)
        parts.append(fitted.found(each["validation"]))
    order = np.argsort(np.concatenate(held))
    return torch.cat(parts)[torch.from_numpy(order)]


def _outputs(module: TreeTraining, data: TreeDataset, options: FitOptions) -> Tensor:
    """(E, ...) what the readout gives for examples."""
    with evaluating(module):
        return torch.cat([module(part.inputs, part.features) for part in _planned(module, data, options)])
