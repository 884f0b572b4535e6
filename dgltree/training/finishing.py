"""Steps after a training: a baseline, the average of both, their metrics, pictures and the card."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders.bracket_scores import InducedBrackets, words_are_leaves
from dgltree.models.label_scales import AS_THEY_ARE, LabelScale, worth_trying
from dgltree.models.readouts import Readout
from dgltree.models.tree_model import evaluating
from dgltree.read.json_text import write_json
from dgltree.training.baseline.average import Average
from dgltree.training.baseline.baseline import Baseline
from dgltree.training.comparison import Compared, all_rows, never_predicted, no_better
from dgltree.training.deciding import Decision
from dgltree.training.folder import CARD, read_epochs, write
from dgltree.training.input_sensitivity import all_equal
from dgltree.training.model_card import card, markdown
from dgltree.training.objectives import Numbers, Objective
from dgltree.training.objectives.classes import MOST_CELLS
from dgltree.training.objectives.metrics import Evaluation
from dgltree.training.objectives.threshold import ThresholdRule
from dgltree.training.processes import say, say_result
from dgltree.training.split_file import remember
from dgltree.training.stepping.callbacks import VALIDATION_LOSS
from dgltree.training.stepping.module import TreeTraining
from dgltree.training.trained_model import TrainedModel

EQUAL_VECTORS = (
    "warning: all vectors of the validation set are equal, so all trees get the same prediction; try a lower --lr or "
    "another --encoder"
)
MIN_CERTAIN_EXAMPLES = 30
"""Validation examples of a class below which a threshold that is chosen by them is called uncertain."""
MOST_OF_A_BASELINE = 1000
"""Classes for which a baseline is fitted: each has a weight for every column."""


def finish(
    decision: Decision,
    module: TreeTraining,
    folder: Path,
    command: str,
    parts: Mapping[str, Sequence[int]],
    pictures: bool = True,
) -> None:
    """Evaluate the model of a training whose epochs are over, and write all that it leaves.

    Args:
        decision, module: what was trained.
        folder, command: of the training.
        parts: of the test set, by name, the numbers of their examples.
        pictures: whether they are drawn, which takes half of the time of a small training.
    """
    trained = TrainedModel.of(decision, module.model.cpu())
    splits = decision.splits
    objective = trained.objective
    validation = splits["validation"]
    targets = {name: objective.targets(data.labels) for name, data in splits.items() if name != "train"}
    calibration = None
    if len(objective.classes) > MOST_OF_A_BASELINE:
        if not decision.options.no_baseline:
            say(
                f"no baseline: there are {len(objective.classes):,} classes, and a baseline takes at most "
                f"{MOST_OF_A_BASELINE:,}"
            )
        compared = _many(trained, splits, targets)
    else:
        answers, temperature = _answers(decision, trained, targets)
        calibration = _calibration(objective, temperature, answers["network"], targets)
        _choose_threshold(decision, trained, answers, targets["validation"])
        objective = trained.objective
        compared = Compared.of(objective, answers, targets)
    of_parts = {
        name: trained.measured(splits["test"].select(list(rows)), targets["test"][list(rows)]).evaluation
        for name, rows in parts.items()
    }
    if all_equal(trained.encode(validation)):
        say(EQUAL_VECTORS)
    if decision.crossed is None:
        _say_last(objective.monitored, folder)
    how = "in validation" if decision.crossed is None else "in cross-fitting"
    for line in [*compared.lines(trained.average, how), *all_rows(compared, decision.refused)]:
        say_result(line)
    warnings = [*never_predicted(compared, decision.options), *no_better(compared, objective)]
    for line in warnings:
        say(f"warning: {line}")
    for name, evaluation in of_parts.items():
        say_result(f"test, {name}: {evaluation}")
    further = _further(decision, trained)
    for name, value in further.items():
        say_result(f"test: {'F1 of the brackets found' if name == 'f1' else name} {value:.4f}")
    trained.save(folder)
    remember(splits["train"], folder)
    monitored = objective.monitored
    level = compared.metrics["baseline"]["validation"].metrics[monitored] if trained.average else None
    if pictures and (why := _draw(folder, compared.used, monitored, level)):
        say(why)
    made = card(decision, trained, compared, command, read_epochs(folder)) | {
        "parts": {name: found.metrics for name, found in of_parts.items()},
        "further": further,
        "warnings": [*decision.warnings, *warnings],
        "calibration": calibration,
    }
    write(folder / "card.md", markdown(made))
    write(folder / CARD, write_json(made, indent=1) + "\n")  # the last one: with it the training is done


def _answers(
    decision: Decision, trained: TrainedModel, targets: Mapping[str, Tensor]
) -> tuple[dict[str, dict[str, Tensor]], float]:
    """Return the answers by split and model, and the temperature of the network.

    Models are the network, and if there is a baseline also this and the average of both, which the trained model gets.
    The temperature and the average are chosen by validation, or by cross-fitting.
    """
    objective = trained.objective
    crossed = decision.crossed
    splits = decision.splits
    answers: dict[str, dict[str, Tensor]] = {}
    if crossed is None:
        chosen_by = targets["validation"]
        outputs = torch.cat([trained.outputs(part) for part in trained.batches(splits["validation"])])
        of_network, network = _calibrated(outputs, objective, chosen_by)
        answers["network"] = {"validation": network}
    else:
        chosen_by = crossed.targets
        of_network, network = _calibrated(crossed.network, decision.objective, chosen_by)
        answers["network"] = {}
    _divide(trained, of_network)
    for name in targets:
        if name not in answers["network"]:
            answers["network"][name] = trained.answers_to(splits[name])
    if not decision.options.no_baseline and (baseline := _baseline(decision, objective)):
        found = baseline.found(splits["validation"]) if crossed is None else crossed.baseline
        assert found is not None
        temperature, calibrated = _calibrated(found, objective, chosen_by)
        baseline = replace(baseline, temperature=temperature)
        trained.average = average = Average.best(baseline, network, calibrated, chosen_by)
        answers["baseline"] = {"validation": calibrated} if crossed is None else {}
        for name in targets:
            if name not in answers["baseline"]:
                answers["baseline"][name] = baseline.answers(splits[name])
        answers["average"] = {name: average.of(answers["network"][name], answers["baseline"][name]) for name in targets}
    return answers, of_network


def _calibration(
    objective: Objective, temperature: float, answers: Mapping[str, Tensor], targets: Mapping[str, Tensor]
) -> dict[str, Any] | None:
    """The log loss and calibration error before and after the temperature, by split; None of numbers."""
    if not objective.classes:
        return None

    def measured(by: float) -> dict[str, dict[str, float]]:
        found = {name: objective.evaluation(objective.tempered(of, by), targets[name]) for name, of in answers.items()}
        return {
            name: {"log_loss": of.probabilities["log_loss"], "calibration_error": of.metrics["calibration_error"]}
            for name, of in found.items()
            if of.probabilities
        }

    return {"temperature": temperature, "before": measured(1 / temperature), "after": measured(1.0)}


def _choose_threshold(
    decision: Decision, trained: TrainedModel, answers: Mapping[str, Mapping[str, Tensor]], targets: Tensor
) -> None:
    """The threshold that was asked for, by what the model answers in validation, and which it is, in a line."""
    if decision.options.threshold is None:
        return
    rule = ThresholdRule.of(decision.options.threshold)
    used = answers.get("average", answers["network"])
    threshold = rule.chosen(used["validation"], targets, trained.classes)
    if threshold is None:
        missing = f"example of {rule.name!r:.60}"
        if rule.by == "precision":
            missing = f"threshold at which {rule.name!r:.60} has a precision of {rule.number:g} or more"
        say(f"no threshold: validation has no {missing}")
        return
    trained.predict_from(threshold)
    why = {
        "given": "as given",
        "f1": "with the best F1 in validation",
        "recall": f"the highest with a recall of {rule.number:g} or more in validation",
        "precision": f"the lowest with a precision of {rule.number:g} or more in validation",
    }[rule.by]
    few = int((targets == threshold.place).sum())
    of_them = "have this class"
    if rule.by == "precision":  # which is a share of what is predicted
        few = int((used["validation"][:, threshold.place] >= threshold.probability).sum())
        of_them = "reach it"
    doubt = ""
    if few < MIN_CERTAIN_EXAMPLES and rule.by != "given":
        doubt = f"; this threshold is uncertain, because only {few} validation examples {of_them}"
    say_result(
        f"{rule.name!r:.60} is predicted if its probability is at least {threshold.probability:.4g}, {why}{doubt}"
    )


def _many(trained: TrainedModel, splits: Mapping[str, TreeDataset], targets: Mapping[str, Tensor]) -> Compared:
    """The network alone, of so many classes that answers to a whole split may not fit into memory."""
    objective = trained.objective
    validation = splits["validation"]
    rows = torch.arange(len(validation))[:: max(1, -(-len(objective.classes) * len(validation) // MOST_CELLS))]
    outputs = torch.cat([trained.outputs(part) for part in trained.batches(validation.select(rows))])
    _divide(trained, objective.temperature(objective.answers(outputs), targets["validation"][rows]))
    found = {name: trained.measured(splits[name], target) for name, target in targets.items()}
    return Compared.of_measured(objective, {"network": found}, targets)


def _further(decision: Decision, trained: TrainedModel) -> dict[str, float]:
    """Metrics of the test set that some encoders or tasks have, 0 to 1, by their names.

    The unlabelled F1 of all brackets together, of an encoder that finds trees over the leaves; the accuracy at all
    nodes that have a label, of a training on these.
    """
    data = decision.splits.get("test")
    encoder = trained.model.encoder
    finds = encoder.induces_trees and words_are_leaves(encoder) and (data is None or data.reading.notation != "words")
    if data is None or not (finds or decision.options.nodes):
        return {}
    brackets = InducedBrackets()
    right = 0
    count = 0
    for part in trained.batches(data, baseline=False):
        with evaluating(trained.model):
            if finds:
                brackets.update(encoder, part.trees, encoder.encoded(part.inputs).parse)
            if decision.options.nodes:
                labels = part.trees.label
                found = trained.model.read_out(trained.nodes(part)).argmax(-1)
                right += int((found == labels)[labels >= 0].sum())
                count += int((labels >= 0).sum())
    accuracy = {"node_accuracy": right / max(1, count)} if decision.options.nodes else {}
    return {"f1": brackets.f1, **accuracy} if finds else accuracy


def _divide(trained: TrainedModel, temperature: float) -> None:
    """Divide the logits of a trained model by a number from now on."""
    readout = trained.model.readout
    assert isinstance(readout, Readout)
    if temperature != 1:
        readout.rescale(0, 1 / temperature)


def _calibrated(found: Tensor, objective: Objective, targets: Tensor) -> tuple[float, Tensor]:
    """The divisor of logits (E, C), and the answers (E, C) then; of numbers (E,) 1 and the numbers."""
    temperature = objective.temperature(objective.answers(found), targets)
    return temperature, objective.answers(found / temperature)


def _baseline(decision: Decision, objective: Objective) -> Baseline | None:
    """The one that cross-validation chooses; None without scikit-learn."""
    try:
        from dgltree.training.baseline.selection import choose
    except ModuleNotFoundError as error:
        say(f"no baseline: {error}")
        return None
    fast = decision.options.baseline == "fast"
    places = decision.encoder.vocabulary.scales
    return choose(decision.splits["train"], objective, _scales(decision), places, fast)


def _scales(decision: Decision) -> list[LabelScale]:
    """Return the scale of the labels, and if some labels are far from all others each that a network may have."""
    if not isinstance(decision.objective, Numbers):
        return [AS_THEY_ARE]
    labels = decision.objective.targets(decision.splits["train"].labels)
    own = decision.objective.scale
    return [own, *(LabelScale.of(name, labels) for name in worth_trying(labels) if name != own.name)]


def _say_last(monitored: str, folder: Path) -> None:
    """Say that more epochs may help, if the last one was the best."""
    values = [(epoch[monitored], -epoch[VALIDATION_LOSS]) for epoch in read_epochs(folder)]
    if len(values) > 1 and max(values[:-1]) < values[-1]:
        say(
            f"the last epoch, {len(values) - 1}, was the best, so more epochs may help; --epochs {2 * len(values)} "
            f"continues"
        )


def _draw(folder: Path, evaluations: Mapping[str, Evaluation], monitored: str, baseline: float | None) -> str | None:
    """Write tables and pictures of the test set, or else of the validation set; why there are no pictures, if so.

    Args:
        folder: of the training.
        evaluations: of the splits.
        monitored: the metric by which the best epoch was chosen.
        baseline: the same of the baseline in validation.
    """
    name = "test" if "test" in evaluations else "validation"
    found = evaluations[name]
    if found.confusion is not None:
        write(folder / "confusion.tsv", found.confusion_table())
    try:
        from dgltree.plotting import charts, curves

        charts.save(curves.learning(read_epochs(folder), monitored, baseline), folder / "learning")
        if found.confusion is not None:
            accuracy = f"{name} set: accuracy {found.metrics['accuracy']:.1%} of {found.examples}"
            charts.save(charts.confusion(found.confusion.numpy(), found.names, accuracy), folder / "confusion")
        elif found.answers is not None:
            title = f"{name} set: R² {found.metrics['r2']:.3f} on {found.examples}"
            answers, labels = (numbers.numpy() for numbers in found.answers)
            charts.save(curves.predicted(labels, answers, title), folder / "predicted")
    except ModuleNotFoundError as error:
        return f"no pictures: {error}; install it with: pip install {error.name}"
    return None
