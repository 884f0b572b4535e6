"""Pictures that a training leaves: its learning curve, and how its answers compare with the labels."""

from pathlib import Path

from dgltree.training.folder import read_epochs, write
from dgltree.training.objectives.metrics import Evaluation


def leave(folder: Path, evaluations: dict[str, Evaluation], monitored: str, baseline: float | None) -> str | None:
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
