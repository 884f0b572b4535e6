"""Large tables on a cluster of Ray: reading, planning, the model, writing. Needs the extra ``ray``."""

from dgltree.scale.equation_jobs import Complete
from dgltree.scale.running import Outcome, run
from dgltree.scale.tree_jobs import Encode, Evaluate, Predict

__all__ = ["Complete", "Encode", "Evaluate", "Outcome", "Predict", "run"]
