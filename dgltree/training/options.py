"""The settings of a training on own trees."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

Task = Literal["classify", "regress", "pair"]
PASSING = {"threads"}
"""Options that may change when a training goes on: they are about the machine."""


@dataclass(frozen=True)
class FitOptions:
    """What ``dgltree fit`` and :func:`dgltree.fit` are told. What is None follows from the data, and is said.

    Args:
        encoder: a cell, which encodes trees, or an encoder of sequences by its name. Default: child_sum for trees of
            many arities, else tree_lstm.
        hidden_size: n, the width of a node's state, and of a tree's vector.
        input_size: width of tokens' vectors, which the gates then read, also at leaves; without it a leaf's state is
            its token's vector. Default: none, but hidden_size where inner nodes have tokens.
        options: further options of the encoder.
        task: classes of trees, numbers, or classes of pairs. Default: pair where there are two trees, regress where all
            labels are numbers and some not whole, else classify.
        nodes: learn from the labels of all nodes, as sentiment treebanks have them.
        readout_size: width of the readout's hidden layer; 0: none.
        dropout: of the states before the readout.
        input_dropout: of tokens' vectors, with an input_size.
        min_count: a token that stands fewer times in training becomes <unk>; with unk a function too.
        unk: learn a function <unk> from rare functions, so that unknown ones can be read later on.
        epochs: passes over the training trees at most.
        patience: epochs without a better validation after which to stop.
        lr: learning rate of Adam at first.
        halve_after: epochs that the rate is kept without a better validation before it is halved; 0: always kept.
        weight_decay: L2.
        batch_nodes: nodes of a batch. Default: a two-hundredth of the training nodes, from 512 to 8192.
        seed: of weights, order, dropout and the choice of splits.
        device: cpu, cuda, or auto.
        threads: of torch on the CPU. Default: one, or all cores but the data loader's where a batch is large enough for
            several to be faster.

    Raises ``ValueError`` for a number that cannot be.
    """

    encoder: str | None = None
    hidden_size: int = 100
    input_size: int | None = None
    options: dict[str, Any] | None = None
    task: Task | None = None
    nodes: bool = False
    readout_size: int = 0
    dropout: float = 0.0
    input_dropout: float = 0.0
    min_count: int = 2
    unk: bool = False
    epochs: int = 30
    patience: int = 5
    lr: float = 2e-3
    halve_after: int = 2
    weight_decay: float = 1e-5
    batch_nodes: int | None = None
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("hidden_size", "min_count", "epochs", "patience", "batch_nodes", "threads"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ValueError(f"{name} is {number}; it is 1 or more")
        if self.halve_after < 0:
            raise ValueError(f"halve_after is {self.halve_after}; it is 0 or more")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed is {self.seed}; it is from 0 to {2**31 - 1}")
        for name in ("dropout", "input_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it is a probability from 0 to below 1")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def identity(self) -> dict[str, Any]:
        """What makes a training this one and no other: a folder with another one is refused."""
        return {name: value for name, value in self.to_json().items() if name not in PASSING}
