"""What follows a training: a baseline, the average of both, their metrics, pictures and the card."""

from pathlib import Path

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
    _divide(trained, objective.temperature(trained.predict(validation), objective.targets(validation.labels)))
    others = {name: dataset for name, dataset in splits.items() if name != "train"}
    answers = {"network": {name: trained.predict(dataset) for name, dataset in others.items()}}
    if not prepared.options.no_baseline and (baseline := _baseline(splits, objective)):
        answers["baseline"] = {name: baseline.answers(dataset) for name, dataset in others.items()}
        trained.average = average = Average.best(baseline, answers["network"]["validation"], validation)
        answers["average"] = {name: average.of(answers["network"][name], answers["baseline"][name]) for name in others}
    compared = Compared.of(objective, answers, {name: objective.targets(data.labels) for name, data in others.items()})
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


def _baseline(splits: dict[str, TreeDataset], objective: Objective) -> Baseline | None:
    """The one that cross-validation chooses, its probabilities calibrated; None without scikit-learn."""
    try:
        from dgltree.training.baseline.choice import choose
    except ModuleNotFoundError as error:
        say(f"no baseline: {error}")
        return None
    baseline, validation = choose(splits["train"], objective), splits["validation"]
    targets = objective.targets(validation.labels)
    return baseline.divided(objective.temperature(baseline.answers(validation), targets))
