"""The metrics of a trained model on labelled examples. Needs the extra ``train`` (torchmetrics)."""

from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.objectives.metrics import Evaluation
from dgltree.training.trained_model import TrainedModel


def evaluate(model: TrainedModel, dataset: TreeDataset) -> Evaluation:
    """The metrics of labelled examples; a label that is none of the model's classes counts as an error.

    Examples without a label, or for numbers with one that is none, are left out.

    Raises ``ValueError`` where there are no others, and as :meth:`dgltree.training.trained_model.TrainedModel.predict`.
    """
    known = model.objective.labelled(model.dataset(dataset))
    return model.objective.evaluation(model.predict(known), model.objective.targets(known.labels))
