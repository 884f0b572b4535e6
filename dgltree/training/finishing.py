"""Steps after a training: a baseline, the average of both, their metrics, pictures and the card."""

from pathlib import Path

import torch
from torch import Tensor

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.models.readouts import Readout
from dgltree.read.json_text import write_json
from dgltree.training import pictures
from dgltree.training.baseline.average import Average
from dgltree.training.baseline.baseline import Baseline
from dgltree.training.compared import Compared
from dgltree.training.folder import CARD, read_epochs, write
from dgltree.training.model_card import card, markdown
from dgltree.training.objectives import Objective
from dgltree.training.preparing import Prepared
from dgltree.training.processes import say
from dgltree.training.sight import all_equal
from dgltree.training.stepping import say_last
from dgltree.training.trained_model import TrainedModel

EQUAL_VECTORS = (
    "warning: all vectors of the validation set are equal, so that all trees get the same answer; try a lower --lr or "
    "another --encoder"
)


def finish(prepared: Prepared, folder: Path, command: str) -> None:
    """Evaluate the model of a training whose epochs are over, and write all that it leaves."""
    trained, splits = prepared.trained(prepared.module.model.cpu()), prepared.splits
    objective, validation = trained.objective, splits["validation"]
    targets = {name: objective.targets(data.labels) for name, data in splits.items() if name != "train"}
    outputs = torch.cat([trained.outputs(part) for part in trained.batches(validation)])
    temperature, calibrated = _calibrated(outputs, objective, targets["validation"])
    _divide(trained, temperature)
    tested = {name: splits[name] for name in targets if name != "validation"}
    answers = {"network": {"validation": calibrated} | {name: trained.predict(data) for name, data in tested.items()}}
    if not prepared.options.no_baseline and (baseline := _baseline(splits["train"], objective)):
        temperature, calibrated = _calibrated(baseline.found(validation), objective, targets["validation"])
        baseline = baseline.divided(temperature)
        trained.average = average = Average.best(
            baseline, answers["network"]["validation"], calibrated, targets["validation"]
        )
        found = {name: baseline.answers(data) for name, data in tested.items()}
        answers["baseline"] = {"validation": calibrated} | found
        answers["average"] = {name: average.of(answers["network"][name], answers["baseline"][name]) for name in targets}
    compared = Compared.of(objective, answers, targets)
    if all_equal(trained.encode(validation)):
        say(EQUAL_VECTORS)
    say_last(prepared, folder)
    for line in compared.lines(trained.average):
        say(line)
    trained.save(folder)
    monitored = objective.monitored
    level = compared.metrics["baseline"]["validation"].metrics[monitored] if trained.average else None
    if why := pictures.leave(folder, compared.used, monitored, level):
        say(why)
    made = card(prepared, trained, compared, command, read_epochs(folder))
    write(folder / "card.md", markdown(made))
    write(folder / CARD, write_json(made, indent=1) + "\n")  # the last one: with it the training is done


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


def _baseline(train: TreeDataset, objective: Objective) -> Baseline | None:
    """The one that cross-validation chooses; None without scikit-learn."""
    try:
        from dgltree.training.baseline.choice import choose
    except ModuleNotFoundError as error:
        say(f"no baseline: {error}")
        return None
    return choose(train, objective)
