"""Large tables by clusters of Ray. Needs the extra ``ray``."""

from dgltree.scale.equations import Complete
from dgltree.scale.running import Outcome, run
from dgltree.scale.trees import Encode, Evaluate, Predict

__all__ = ["Complete", "Encode", "Evaluate", "Outcome", "Predict", "run"]
