"""Every sentence that fit, evaluate, predict, inspect and explain print about a table is recomputed from the table."""

import contextlib
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from own_trees import QUIET
from sentences import Node, Row, contradicted, described, nodes, of_classes, parsed, shared, unknown, written

pytest.importorskip("lightning", reason="the train extra is not installed")

import recomputed
from safetensors.numpy import load_file

from dgltree import TrainedModel, Tree
from dgltree.commands.main import main

pytestmark = QUIET
SPLITS = ("train", "train", "train", "validation", "test")
ODD = {
    "open": ("(f x", "train"),  # no end
    "r4": ("x", "test"),  # an id that was used
    "rare": ("(once x w)", "train"),
    "strange": ("(never (f x x) y)", "validation"),
    "unknown": ("(f x q)", "test"),
    "nothing": ("(f x x)", "test"),  # no label
}
OPTIONS = ["--group-by", "group", "--hidden-size", "12", "--epochs", "1", "--lr", "0.01", "--batch-nodes", "200"]
OPEN, REPEATED = 162, 163
NO_LABEL = "line 167: nothing: no label"
SIDES = ("network alone", "baseline")


class Told(NamedTuple):
    """What the commands printed, and what they printed it of."""

    file: Path
    folder: Path
    model: TrainedModel
    rows: list[Row]
    """Those that are read, some without a label."""
    splits: dict[str, list[Row]]
    said: dict[str, tuple[list[str], list[str]]]
    """By command its lines on standard output, and on standard error."""
    numbers: bool


def tree(rng: random.Random, deep: int) -> str:
    if deep == 0 or rng.random() < 0.2:
        return rng.choice("xyzuv")
    if rng.random() < 0.2:
        return f"(k {tree(rng, deep - 1)})"
    return f"({rng.choice('fgh')} {tree(rng, deep - 1)} {tree(rng, deep - 1)})"


def classes(rng: random.Random, text: str) -> str:
    return "more x" if text.count("x") > text.count("y") else rng.choice(["less", "less", "often"])


def numbers(rng: random.Random, text: str) -> str:
    return f"{text.count('x') - 0.5 * text.count('g') + 0.25 * rng.randrange(6)}"


def table(label: Callable[[random.Random, str], str]) -> list[tuple[str, ...]]:
    rng = random.Random(4)
    rows = []
    for i in range(160):
        text = tree(rng, 3)
        rows.append((f"r{i}", text, label(rng, text), SPLITS[i % 5], f"g{i % 91}"))
    for name, (text, split) in ODD.items():
        own = {"rare": "alone", "strange": "alone", "unknown": "new"}.get(name) if label is classes else None
        own = "" if name == "nothing" else own
        rows.append((name, text, label(rng, text) if own is None else own, split, "odd"))
    return rows


def run(command: list[str]) -> tuple[list[str], list[str]]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main(command) in (0, 1)
    return out.getvalue().splitlines(), [line for line in err.getvalue().splitlines() if "kernels" not in line]


@pytest.fixture(scope="module", params=[classes, numbers], ids=["classes", "numbers"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Told:
    file = tmp_path_factory.mktemp("told") / "trees.tsv"
    out, given = file.parent / "model", table(request.param)
    lines = [("id", "tree", "label", "split", "group"), *given]
    file.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")
    good = [(line, row) for line, row in enumerate(given, 2) if line not in (OPEN, REPEATED)]
    rows = [Row(line, name, parsed(text), *rest) for line, (name, text, *rest) in good]
    splits = {name: [row for row in rows if row.split == name and row.label] for name in dict.fromkeys(SPLITS)}
    commands = {
        "fit": ["fit", str(file), "--out", str(out), "--no-cache", *OPTIONS],
        "evaluate": ["evaluate", str(out), str(file)],
        "predict": ["predict", str(out), str(file)],
        "inspect": ["inspect", str(file), "--no-cache"],
        "explain": ["explain", str(out), "(f (g x y) (k z))", "--top", "9"],
    }
    said = {name: run(command) for name, command in commands.items()}
    return Told(file, out, TrainedModel.load(out), rows, splits, said, request.param is numbers)


def bad(told: Told) -> list[str]:
    """What is wrong, and where."""
    end = "found no end of the list that opens here; expected ')', as in (+ x (sin y))"
    return [
        f"line {OPEN}: tree: not a valid sexpr tree: line 1, column 1: {end}",
        f"line {REPEATED}: the id 'r4' was already used in line 6; each record needs its own id",
    ]


def answers(told: Told, who: str, rows: list[Row]) -> recomputed.Rows:
    """Of the model, or of a part of it."""
    texts, model = [written(row.tree) for row in rows], told.model
    average = model.average
    assert average is not None
    try:
        if who == "network alone":
            model.average = None
        found = average.baseline.answers(model.dataset(texts)) if who == "baseline" else model.answers_to(texts)
    finally:
        model.average = average
    labels = [row.label for row in rows]
    if told.numbers:
        return recomputed.Rows(labels, found.double().numpy(), [], 0)
    names = [model.classes[best] for best in found.argmax(1).tolist()]
    return recomputed.Rows(labels, found.double().numpy(), names, 0, model.classes)


def measured(told: Told, who: str, rows: list[Row]) -> str:
    found = recomputed.metrics(answers(told, who, rows), [row.label for row in told.splits["train"]])
    return ", ".join(f"{name} {value:.4f}" for name, value in found.items()) + f", {len(rows)} examples"


def of_answers(told: Told) -> Iterator[str]:
    average = told.model.average
    assert average is not None
    for split in ("validation", "test"):
        yield f"{split}: {measured(told, 'model', told.splits[split])}"
        if split == "test":
            train = [row.label for row in told.splits["train"]]
            ends = recomputed.intervals(answers(told, "model", told.splits[split]), train)
            each = (f"{name} {low:.4f} to {high:.4f}" for name, (low, high) in ends.items())
            yield f"test, 95 % of resamples: {', '.join(each)}"
        yield f"{split}, network alone: {measured(told, 'network alone', told.splits[split])}"
        yield f"{split}, baseline ({average.baseline.what}): {measured(told, 'baseline', told.splits[split])}"


def lost(rows: recomputed.Rows, found: np.ndarray) -> float:
    """Squared error, or the mean log loss of the labels that are classes."""
    if not rows.names:
        return float(np.square(np.array(rows.labels, float) - found).mean())
    right = [found[i, rows.names.index(label)] for i, label in enumerate(rows.labels) if label in rows.names]
    return float(-np.log(right).mean())


def weights(told: Told) -> str:
    """What takes them, in the file of the model."""
    functions = len({name for name, _ in told.model.model.encoder.vocabulary.functions})
    tokens = len(told.model.model.encoder.vocabulary.tokens)
    kinds = {
        "readout": "readout",
        "embedding": f"vectors of {tokens} tokens",
        "maps": f"gates of {functions} functions",
    }
    counts = dict.fromkeys(kinds.values(), 0)
    for name, array in load_file(told.folder / "model.safetensors").items():
        kind = next((kind for kind in kinds if kind in name), None)
        if kind is not None and name not in ("readout.mean", "readout.deviation"):
            counts[kinds[kind]] += array.size
    largest = sorted(counts.items(), key=lambda item: -item[1])
    return f"{sum(counts.values()):,} weights ({', '.join(f'{what} {count:,}' for what, count in largest if count)})"


def before(told: Told) -> Iterator[str]:
    """The lines of ``fit`` before its first epoch."""
    every = [node for row in told.rows for node in nodes(row.tree)]
    yield f"{told.file}: {len(told.rows)} examples, {len(every):,} nodes, read as sexpr"
    labels = {row.label for row in told.rows if row.label}
    if told.numbers:
        yield f"the labels are {len(labels)} different numbers, some not whole, and are learned as numbers"
    unclosed, repeated = bad(told)
    yield from ("train: 1 could not be read:", f"  {unclosed}")
    yield from ("test: 2 could not be read:", f"  {repeated}", f"  {NO_LABEL}")
    labelled = [row for row in told.rows if row.label]
    yield f"train: {contradicted(labelled)} examples have trees that occur with different labels"
    if not told.numbers:
        yield "test: labels that do not occur in the training set count as errors: new"
    yield "the encoder reads functions, tokens and the order of children"
    counts = ", ".join(f"{len(rows)} {name}" for name, rows in told.splits.items())
    yield f"{'regress' if told.numbers else 'classify'}: {counts}; tree_lstm of 12, {weights(told)}"
    yield from unknown(told.splits)
    if not told.numbers:
        yield from of_classes(told.splits)
    yield from shared(told.splits)


def test_fit_says_what_it_read_and_what_the_answers_are_worth(told: Told) -> None:
    out, err = told.said["fit"]
    *results, about_the_average, last = out
    assert results == list(of_answers(told))
    assert "so the model predicts with" in about_the_average or about_the_average.startswith(
        "the predictions are an average"
    )
    assert last == f"the model is in {told.folder}; its card: {told.folder / 'card.md'}"
    at = len(list(before(told)))
    assert err[:at] == list(before(told))
    assert err[at].startswith("epoch 0: "), "nothing else is progress"
    assert err[at + 1 :] == list(never_predicted(told))


def never_predicted(told: Told) -> Iterator[str]:
    """The warning about the classes of validation that are not predicted there."""
    rows = answers(told, "model", told.splits["validation"])
    missed = [name for name in rows.names if name in rows.labels and name not in rows.predicted]
    if missed:
        have = "1 class is" if len(missed) == 1 else f"{len(missed)} classes are"
        yield (
            f"warning: {have} never predicted in validation ({', '.join(missed)}): --class-weights balanced gives all "
            f"classes the same weight; --threshold '{missed[0]}=f1' of fit predicts this class above the probability "
            "with the best F1"
        )


def test_what_the_encoder_reads_changes_vectors(told: Told) -> None:
    texts = ["(f x y)", "(g x y)", "(f z y)", "(f y x)"]
    first, *others = told.model.encode(texts)
    assert all(not bool((first == other).all()) for other in others)


def test_an_epoch_has_the_metrics_of_its_network(told: Told) -> None:
    [line] = [line for line in told.said["fit"][1] if line.startswith("epoch")]
    [epoch] = [json.loads(text) for text in (told.folder / "epochs.jsonl").read_text().splitlines()]
    numbers = {name: float(number) for name, number in re.findall(r"(\w+) (-?\d+\.\d{4})", line)}
    assert numbers == {name: pytest.approx(epoch[name], abs=5.1e-5) for name in numbers}
    assert {"loss", *(("r2", "rmse", "mae") if told.numbers else ("accuracy", "macro_f1"))} <= set(numbers)
    train = [row.label for row in told.splits["train"]]
    found = recomputed.metrics(answers(told, "network alone", told.splits["validation"]), train)
    monitored = "r2" if told.numbers else "accuracy"
    assert numbers[monitored] == pytest.approx(found[monitored], abs=6e-5)


def test_the_average_is_the_best_in_validation(told: Told) -> None:
    rows = told.splits["validation"]
    network, baseline = (answers(told, who, rows) for who in SIDES)
    losses = [lost(network, w / 20 * network.answers + (1 - w / 20) * baseline.answers) for w in range(21)]
    share = int(np.argmin(losses)) / 20
    said = f"the predictions are an average of {share:.0%} network and {1 - share:.0%} baseline, the best in validation"
    if share in (0, 1):
        who, other = ("network", "baseline") if share else ("baseline", "network")
        said = (
            f"the {who} alone is best in validation, so the model predicts with the {who} only; the {other} adds "
            "nothing"
        )
    assert told.said["fit"][0][-2] == said


def test_evaluate_counts_all_rows(told: Told) -> None:
    out, err = told.said["evaluate"]
    labelled = [row for row in told.rows if row.label]
    without = NO_LABEL
    assert out[0] == f"{measured(told, 'model', labelled)}, 3 left out"
    trees = {row.tree for row in told.splits["train"]}
    again = sum(row.tree in trees for row in labelled)
    assert err == [
        *(f"dgltree: {told.file}, {line}" for line in [*bad(told), without]),
        f"warning: {again} of {len(labelled)} examples also occur in the training set of the model",
    ]
    if told.numbers:
        assert len(out) == 1
        return
    rows = answers(told, "model", labelled)
    assert out[1] == ", ".join(f"{name} {value:.4f}" for name, value in recomputed.probabilities(rows).items())
    of_classes = recomputed.by_class(rows).items()  # in the order of the confusions
    lines = [f"{name}\t{p:.4f}\t{r:.4f}\t{f1:.4f}\t{count}" for name, (p, r, f1, count) in of_classes]
    assert out[2 : 3 + len(lines)] == ["class\tprecision\trecall\tf1\tsupport", *lines]
    wanted = recomputed.confusion(rows)
    assert out[3 + len(lines) :] == [
        "\t".join(["label (rows), prediction (columns)", *(row[0] for row in wanted)]),
        *("\t".join(map(str, row)) for row in wanted),
    ]


def test_predict_answers_every_row(told: Told) -> None:
    (header, *lines), err = told.said["predict"]
    assert header == "\t".join(["id", "prediction", *told.model.classes])
    found, wanted = answers(told, "model", told.rows), {}
    for i, row in enumerate(told.rows):
        numbers = [f"{number:.6f}" for number in np.atleast_1d(found.answers[i])]
        wanted[row.line] = [row.id, *([found.predicted[i], *numbers] if found.names else [])]
    empty = [""] * (1 + len(told.model.classes))
    wanted |= {OPEN: ["open", *empty], REPEATED: [str(REPEATED), *empty]}
    assert len(lines) == len(wanted)
    for line, text in enumerate(lines, 2):
        name, *rest = text.split("\t")
        assert name == wanted[line][0]
        if told.numbers and rest != [""]:
            at = next(i for i, row in enumerate(told.rows) if row.line == line)
            assert float(rest[0]) == pytest.approx(found.answers[at], rel=1e-5, abs=1e-6)
        else:
            assert rest == (wanted[line][1:] or empty)
    assert err[:-1] == [f"dgltree: {told.file}, {line}" for line in bad(told)]
    assert re.fullmatch(rf"{len(lines)} records in \S+ s, [\d,]+ a second; peak memory [\d,]+ MB.*", err[-1])


def test_inspect_describes_the_table(told: Told) -> None:
    out = told.said["inspect"][0]
    parts = {part[0]: part[1:] for part in (text.splitlines() for text in "\n".join(out).split("\n\n"))}
    for title, wanted in described(told.rows, told.numbers).items():
        assert title in parts, title
        assert sorted(parts[title]) == sorted(wanted), title
        counts = [int(line.split()[-2].replace(",", "")) for line in parts[title] if line.endswith("#")]
        assert counts == sorted(counts, reverse=True) or "depth" in title or "children of the inner" in title
    assert parts["2 could not be read:"] == [f"  {line}" for line in bad(told)]
    reads = "functions, tokens and the order of children"
    assert out[-1] == f"unless an encoder is named, fit trains tree_lstm, which reads {reads}"
    sizes = sorted(len(nodes(row.tree)) for row in told.rows)
    drawn = [
        [re.sub("[│├└─ ]", "", line) for line in lines] for title, lines in parts.items() if "median size" in title
    ]
    shapes = [
        [node.function + (f"'{node.token}'" if node.token else "") for node in nodes(row.tree)]
        for row in told.rows
        if len(nodes(row.tree)) == sizes[len(sizes) // 2]
    ]
    assert drawn[0] in shapes


def hidden(tree: Node) -> Iterator[tuple[Node, Tree]]:
    """Each subtree in preorder, and the tree with an unknown leaf in its place."""

    def made(node: Node) -> Tree:
        return Tree(node.function, tuple(map(made, node.children)), node.token)

    for i, child in enumerate(tree.children):
        others = [made(other) for other in tree.children]
        yield child, Tree(tree.function, (*others[:i], Tree("never seen", token="never seen"), *others[i + 1 :]))
        for part, inner in hidden(child):
            yield part, Tree(tree.function, (*others[:i], inner, *others[i + 1 :]))


def test_explain_gives_the_fall_of_the_answer_without_each_subtree(told: Told) -> None:
    text = "(f (g x y) (k z))"
    out, _ = told.said["explain"]
    whole, parts = told.model.answers_to([text])[0].double().numpy(), list(hidden(parsed(text)))
    without = told.model.answers_to([made for _, made in parts]).double().numpy()
    if told.numbers:
        assert out[0] == f"{text}: {whole:.6g}"
        falls = [(written(part), f"{whole - each:+.4g}") for (part, _), each in zip(parts, without, strict=True)]
        rows = [(row[2], row[1]) for row in (line.split("\t") for line in out[3 : 3 + len(parts)])]
    else:
        best = int(whole.argmax())
        assert out[0] == f"{text}: {told.model.classes[best]}, probability {whole[best]:.6f}"
        odds = [np.log(p / (1 - p)) for p in (whole[best], *without[:, best])]
        falls = [
            (written(part), f"{100 * (whole[best] - each[best]):+.1f}", f"{odds[0] - odd:+.2f}")
            for (part, _), each, odd in zip(parts, without, odds[1:], strict=True)
        ]
        rows = [(row[3], *row[1:3]) for row in (line.split("\t") for line in out[3 : 3 + len(parts)])]
    assert sorted(rows) == sorted(falls), "each subtree once, with its effect"
    assert [line.split("\t")[0] for line in out[3 : 3 + len(parts)]] == [str(i + 1) for i in range(len(parts))]
    drawn = [line.split() for line in out[4 + len(parts) + 1 :]]
    effects = [fall[1] for fall in falls]
    assert [line[0] for line in drawn] == effects, "the same below the tree's root, in preorder"
    ranks = {row[0]: i + 1 for i, row in enumerate(rows)}
    assert [line[1] for line in drawn] == [f"[{ranks[written(part)]}]" for part, _ in parts]
