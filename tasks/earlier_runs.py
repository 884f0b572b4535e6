"""Runs that the tasks' own command lines left, before all trained by ``dgltree.fit``: their best epoch is read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from dgltree import Vocabulary
from dgltree.cells import CELLS
from dgltree.batching.vocabulary import with_signatures
from dgltree.datasets import Reading
from dgltree.encoders import make_encoder
from dgltree.models import ClassifierReadout, PairModel, PairReadout, TreeModel
from dgltree.training.stepping.callbacks import BEST, check_checkpoint
from dgltree.training.trained_model import TrainedModel

CONFIG, CHECKPOINTS = "config.yaml", "checkpoints"


def earlier_model(run: Path, vocabulary: Vocabulary, classes: Sequence[str]) -> TrainedModel:
    """The model of such a run of logic, ListOps or sentiment.

    Args:
        run: its folder.
        vocabulary, classes: of the data that it was trained on.

    Raises ``FileNotFoundError`` for a folder without one, and ``ValueError`` for data whose vocabulary or classes are
    others, and for a damaged checkpoint.
    """
    file = run / CHECKPOINTS / BEST
    if not (run / CONFIG).exists() or not file.exists():
        raise FileNotFoundError(f"{run}: no model in it; give the folder of a training")
    given: dict[str, Any] = yaml.safe_load((run / CONFIG).read_text(encoding="utf-8"))["model"]
    size, joint, options = given["hidden_size"], given.get("joint"), dict(given.get("options") or {})  # None: no pairs
    if "input_size" in given and given["encoder"] in CELLS:  # of sentiment
        options = {"input_size": given["input_size"], "leaf": "gates", **options}
    elif "input_size" in given:
        width = {} if given["input_size"] == size else {"embedding_size": given["input_size"]}
        options = {"order": "leaves", **width, **options}
    encoder = make_encoder(given["encoder"], vocabulary, size, **options, **({"joint": True} if joint else {}))
    pairs, hidden = joint is False, size if joint else given.get("readout_size")
    readout = PairReadout(size, len(classes)) if pairs else ClassifierReadout(size, len(classes), hidden)
    model = (PairModel if pairs else TreeModel)(encoder, readout, classes)
    weights = check_checkpoint(file)["state_dict"]
    try:
        own = {name: weights[name] for name in weights if name.startswith(("encoder.", "readout."))}
        model.load_state_dict(with_signatures(model, own))
    except RuntimeError as error:
        raise ValueError(f"{file}: other data than it was trained on: {str(error).splitlines()[-1].strip()}") from None
    return TrainedModel(model, Reading(notation="brackets", numbers=False))
