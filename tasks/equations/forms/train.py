"""``python -m tasks.equations train-forms``: the small model that tells which form a textbook writes, to one file."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import torch
from jsonargparse import auto_cli
from torch import Tensor
from tqdm import tqdm

from dgltree import Tree, batch, read_equation, read_infix, save
from dgltree.batching.vocabulary import UNKNOWN, Vocabulary
from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.equations.expressions.names import VARIABLE, variables
from dgltree.equations.expressions.written_form import form, symbols
from dgltree.equations.ranking.form_scorer import FormScorer, context, form_vocabulary, total
from dgltree.models import PairModel, PairReadout
from dgltree.trees.equation import substitute
from tasks.equations.forms.groups import FormGroup, read
from tasks.equations.vocabulary import elementary_vocabulary

RARE = 0.5  # share of steps in which one literal, and of those in which one function is <unk>
FREQUENT = ("-1", "0", "1", "2", "3", "1/2", "pi", "e")  # tokens that never are
CLIP = 5.0


class Encoded(NamedTuple):
    """A group as trees: the equation, the forms, and which of these are right."""

    trees: list[Tree]
    right: Tensor
    """(F,) bool"""
    length: Tensor
    """(F,) in symbols"""


def encoded(group: FormGroup) -> Encoded:
    """A group of texts as trees, its variables called var_0 and so on in the alphabet's order, as a scorer does."""
    equation = read_equation(group.equation)
    names = sorted(variables(*equation))
    called = {Tree(VARIABLE, token=name): Tree(VARIABLE, token=f"var_{i}") for i, name in enumerate(names)}
    forms = list(map(read_infix, group.forms))
    right = torch.tensor(list(group.forms.values()))
    length = torch.tensor([float(symbols(tree)) for tree in forms])
    return Encoded([substitute(tree, called) for tree in (context(equation), *forms)], right, length)


def train(
    lines: Path = Path("runs/forms/lines.jsonl"),
    out: Path = Path("runs/forms/model.safetensors"),
    hidden_size: int = 48,
    steps: int = 2000,
    batch_size: int = 24,
    lr: float = 3e-3,
    weight_decay: float = 1e-5,
    seed: int = 0,
) -> None:
    """Train on groups of forms, save the model, and print how often the right form is first in the groups for tests.

    Args:
        lines: file of groups that ``python -m tasks.equations forms`` wrote.
        out: file to write the model to (safetensors, 16-bit weights).
        hidden_size: width of the hidden state.
        steps: of Adam.
        batch_size: groups a step.
        lr: highest learning rate, one cycle.
        weight_decay: L2, not decoupled.
        seed: of the order, of what is hidden, and of the initial weights.
    """
    known = elementary_vocabulary()
    vocabulary = form_vocabulary(known.functions, (token for token in known.tokens if token != UNKNOWN))
    torch.manual_seed(seed)
    cell = CELLS["tree_lstm"](vocabulary, hidden_size)
    model = PairModel(TreeEncoder(cell), PairReadout(hidden_size, 1), ["form"])
    groups = read(lines)
    learnt = [encoded(group) for group in groups if not group.test]
    optimizer = torch.optim.Adam(model.parameters(), lr, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps, pct_start=0.1)
    random = Random(seed)
    with tqdm(_batches(learnt, batch_size, steps, random), total=steps, unit="step", disable=None) as bar:
        for chosen in bar:
            optimizer.zero_grad()
            loss = _loss(model, chosen, vocabulary, random)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimizer.step()
            schedule.step()
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
    save(model.eval().half(), out)
    print(f"{len(learnt)} groups learnt -> {out}")
    print(report(FormScorer(model.float()), [group for group in groups if group.test]))


def _batches(groups: Sequence[Encoded], size: int, steps: int, random: Random) -> Iterator[list[Encoded]]:
    order: list[Encoded] = []
    for _ in range(steps):
        if len(order) < size:
            order = random.sample(list(groups), len(groups))
        yield [order.pop() for _ in range(size)]


def _loss(model: PairModel, groups: list[Encoded], vocabulary: Vocabulary, random: Random) -> Tensor:
    """The mean cross-entropy of the right forms among all forms of a group."""
    flat = batch([tree for group in groups for tree in group.trees], vocabulary)
    flat = replace(
        flat, token=_hidden(vocabulary, random)[flat.token], function=_unnamed(vocabulary, random)[flat.function]
    )
    states = model.encoder(flat, share=True).split([len(group.trees) for group in groups])
    fillers = torch.cat([state[1:] for state in states])
    contexts = torch.cat([state[:1].expand(len(state) - 1, -1) for state in states])
    scores = total(model.readout(fillers, contexts)[:, 0], torch.cat([group.length for group in groups]))
    losses = [
        score.logsumexp(0) - score[group.right].logsumexp(0)
        for group, score in zip(groups, scores.split([len(group.right) for group in groups]), strict=True)
    ]
    return torch.stack(losses).mean()


def _hidden(vocabulary: Vocabulary, random: Random) -> Tensor:
    """(tokens + 1,) new ids of tokens: variables renamed in their order, and now and then a literal that is unknown.

    The last is of ``NO_TOKEN``, -1.
    """
    tokens = vocabulary.tokens
    ids = torch.cat([torch.arange(len(tokens)), torch.tensor([-1])])
    names = [i for i, token in enumerate(tokens) if token.startswith("var_")]
    chosen = sorted(random.sample(names, 4))
    ids[names[:4]] = torch.tensor(chosen)
    if random.random() < RARE:
        ids[random.choice([i for i, token in enumerate(tokens) if i not in names and token not in FREQUENT])] = (
            vocabulary.token_id(UNKNOWN)
        )
    return ids


def _unnamed(vocabulary: Vocabulary, random: Random) -> Tensor:
    """(functions,) new ids of functions: now and then one of one argument that is unknown."""
    ids = torch.arange(len(vocabulary.functions))
    if random.random() < RARE:
        unary = vocabulary.at_arity(1)
        ids[random.choice(unary)] = vocabulary.function_id(UNKNOWN, 1)
    return ids


def report(scorer: FormScorer, groups: Sequence[FormGroup]) -> str:
    """How often the first form is right, by the scorer, short to long, by chance; and how often written as a right one.

    Forms of one length stand in the order in which the search gives them.
    """
    shares = torch.zeros(3, 2)
    for group in groups:
        forms = list(map(read_infix, group.forms))
        written = {form(tree) for tree, right in zip(forms, group.forms.values(), strict=True) if right}
        right = torch.tensor(
            [[good, form(tree) in written] for tree, good in zip(forms, group.forms.values(), strict=True)]
        ).float()
        shortest = min(range(len(forms)), key=lambda i: symbols(forms[i]))
        best = int(scorer.scores(read_equation(group.equation), forms).argmax())
        shares += torch.stack([right[best], right[shortest], right.mean(0)])
    lines = [f"{'order':14} {'right form':>10} {'as written':>10}   of {len(groups)} groups for tests"]
    for name, row in zip(
        ("the model", "short to long", "chance"), (shares / max(1, len(groups))).tolist(), strict=True
    ):
        lines.append(f"{name:14} {row[0]:10.3f} {row[1]:10.3f}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    auto_cli(train, args=arguments, prog="python -m tasks.equations train-forms")
