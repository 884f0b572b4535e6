"""The settings of a training on own trees."""

import re
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any, Literal

from dgltree.support.arguments import LabelScaleName, check_types

TaskName = Literal["classify", "regress", "pair"]
OptimizerName = Literal["adamw", "adam", "radam", "radam_lookahead", "nadam", "adagrad", "rmsprop", "sgd"]
ScheduleName = Literal["plateau", "cosine", "linear", "wsd"]
BaselineSearch = Literal["full", "fast"]
PASSING = {
    *("threads", "epochs", "max_time", "log", "baseline", "no_baseline", "split_of", "threshold", "devices", "machines")
}
"""Options that may change when a training continues: they do not change an epoch, except for masks of dropout."""
MINIMA = {
    1: "hidden_size min_count epochs patience batch_nodes batch_size batch_words devices machines threads accumulate",
    0: "warmup halve_after readout_size weight_decay input_size token_dropout",
}
"""Options that are numbers, by their least value."""
TENSORBOARD = ("tensorboard", "tensorboardX")
"""Packages one of which Lightning writes for tensorboard with."""
THRESHOLD_FORMS = "CLASS=P with P from 0 to 1, CLASS=f1, or CLASS=recall:R or CLASS=precision:R with R above 0, up to 1"
USUAL_EPOCHS, MOST_EPOCHS = 30, 300
"""Where no number is given: a training ends after the first, unless that epoch is the best, and at the latest after the
second."""


@dataclass(frozen=True)
class Task:
    """One of the values of ``--task``, and its defaults."""

    each: int
    """Trees of an example."""
    readout: str
    """In ``dgltree.models.checkpoint.READOUTS``, unless another one is named."""
    gives: tuple[str, ...]
    """The kinds of output that its readouts may give."""
    dropout: float = 0.0
    input_dropout: float = 0.0
    token_dropout: float = 0.0
    weight_decay: float = 0.0
    """Decay that makes a training fit few examples less closely. Measured in docs/defaults.md."""


TASKS = {
    "classify": Task(
        1, "classifier", ("classes",), dropout=0.5, input_dropout=0.3, token_dropout=40.0, weight_decay=0.05
    ),
    "regress": Task(1, "number", ("numbers",)),
    "pair": Task(2, "pair", ("classes", "numbers")),
}


@dataclass(frozen=True)
class FitOptions:
    """The settings of ``dgltree fit`` and :func:`dgltree.fit`. One that is None follows from the data, and is printed.

    Args:
        encoder: the model that reads a tree: a cell, or a sequence encoder. Default: child_sum if a node has more than
            three children, else tree_lstm. Each function has weights of its own if there are then at most 50 weights
            per training node; otherwise functions share weights.
        hidden_size: width of a node's state and of a tree's vector. Default: 100, or less, to keep the encoder within
            50 weights per training node.
        input_size: width of the token embeddings, which the gates of every node read. With 0 only leaves have tokens,
            and the embedding of a leaf's token is its state. Default: hidden_size for a cell, if there are tokens.
        options: further options of the encoder as JSON, such as '{"stack_size": 5}'. Every cell takes '{"rounds": 2}':
            in a second pass each node also reads the root's state. With '{"rounds": 2, "context": "down"}' each node
            reads its own state in context instead.
        task: classify, regress (predict numbers), or pair (classify pairs of trees). Default: pair if an example has
            two trees. Otherwise regress if all labels are numbers and some are not whole or more than 20 differ, else
            classify.
        label_scale: learn numbers on this scale: none, log, asinh, or rank (their normal scores). Default: none, or, if
            some labels are far from all others, the scale that is best in validation.
        nodes: train on the labels of all nodes, as in sentiment treebanks.
        readout: the output head, by its name in dgltree.models.checkpoint.READOUTS. Default: classifier, number or
            pair, depending on the task.
        readout_size: width of a hidden layer before the output layer. 0 means no hidden layer, but with features it
            means the width of the state.
        dropout: dropout rate of a tree's vector in training, before the output layer. Default: 0.5 for classes of
            trees, else 0.
        input_dropout: dropout rate of token embeddings in training; needs an input_size. Default: 0.3 for classes of
            trees, else 0.
        token_dropout: drop the whole embedding of a token in training with probability A / (A + count), where A is this
            number and count is how often the token occurs; needs an input_size. Default: 40 for classes of trees, else
            0.
        min_count: read tokens and functions that occur fewer times than this in the training set as <unk>.
        unk: also read unknown functions as <unk>, one for each number of children. Without this option, a tree with a
            function that is not in the training set is rejected.
        token_parts: read rare and unknown tokens by the words they consist of, such as user and name in userName. Meant
            for names in code; has an effect only if tokens of the training set share words.
        epochs: make at most this many passes over the training set; a larger number continues a finished training.
            Default: 30, or up to 300 if the 30th is the best so far.
        patience: stop after this many epochs without a better validation result.
        lr: initial learning rate. Default: 0.004, and 0.001 for the Transformers.
        warmup: raise the learning rate to lr over this many steps. Default: 100 for the Transformers, else 0.
        schedule: plateau halves the learning rate as halve_after says. cosine and linear lower it at every step, to 0
            at the end of the last epoch; wsd (warmup, stable, decay) does so only in the second half of the steps.
            These three need epochs, and a resumed training cannot change the number.
        halve_after: halve the learning rate after more than this many epochs without a better validation result; 0 for
            never.
        weight_decay: shrink weight matrices and embeddings by the learning rate times this number at each step.
            Default: 0.05 for classes of trees, else 0.
        optimizer: an optimizer of torch: adamw, radam, nadam, adagrad, rmsprop or sgd. adam has L2 weight decay on
            every weight. radam_lookahead takes back a fifth of its progress every five steps.
        beta1: decay rate of the optimizer's running mean of the gradients; for sgd, the momentum.
        eps: number that the optimizer adds to the root mean square of the gradients.
        clip: maximum norm of the gradients.
        averaging: decay of an exponential average of the weights, such as 0.999. Validation uses the average, and the
            model saves it. Default: none.
        vectors: begin with the word vectors in this file, in GloVe's format; needs an input_size.
        from_: begin with the encoder (kind, width, vocabulary and weights) of this folder of dgltree embed or fit.
        token_range: draw token vectors from U(-token_range, token_range). Default: the encoder's own distribution.
        frozen: do not train the token vectors or, with from, any part of the encoder.
        batch_nodes: approximate number of nodes in a batch. Default: 1/200 of the training nodes, at least 512 and at
            most 8192.
        batch_size: put at most this many examples into a batch; replaces batch_nodes.
        batch_words: put at most this many leaves, including padding, into a batch, from examples with similar numbers
            of leaves; needs a batch_size.
        seed: random seed of the initial weights, order, dropout and splits.
        device: compute on cpu or cuda (a GPU); auto uses a GPU if there is one.
        devices: train in this many processes on each machine, one per GPU if there are GPUs. Under torchrun, give the
            number of processes that it starts on a machine.
        machines: number of machines that run this command together; start it with torchrun on each.
        threads: use this many CPU threads in each process. Default: for cells, all cores except the data loader's.
            Other encoders use one core, or all cores if batches are large enough to benefit.
        precision: floating-point precision: 32, bf16-mixed or 16-mixed. The mixed ones make sequence encoders faster on
            a GPU; cells always use 32.
        accumulate: add up the gradients of this many batches before each step.
        max_time: stop at the end of the epoch in which this time runs out; write it as days:hours:minutes:seconds, such
            as "00:02:30:00".
        class_weights: "balanced" gives rare classes as much weight as frequent classes, in the losses of the network
            and the baseline. Validation also chooses the epoch (by balanced accuracy), the average and the temperature
            with these weights.
        threshold: predict a class if its probability is at least P, given as CLASS=P; or let validation choose P.
            CLASS=f1 chooses the P with the best F1; CLASS=recall:R the highest P with a recall of at least R, and
            CLASS=precision:R the lowest P with a precision of at least R. Default: the most probable class is
            predicted.
        log: also write the metrics, as csv or for tensorboard, to logs in the output folder.
        baseline: how to choose the baseline. full compares linear models, boosted trees and a forest by
            cross-validation; fast fits one linear model.
        no_baseline: fit no baseline; the network alone makes the predictions.
        split_of: keep the split of the earlier training in this folder. Its examples stay in their splits; new examples
            are assigned by their hash.

    Raises ``ValueError`` for what cannot be, and ``ModuleNotFoundError`` for a ``log`` whose package is not installed.
    """

    encoder: str | None = None
    hidden_size: int | None = None
    input_size: int | None = None
    options: dict[str, Any] | None = None
    task: TaskName | None = None
    label_scale: LabelScaleName | None = None
    nodes: bool = False
    readout: str | None = None
    readout_size: int = 0
    dropout: float | None = None
    input_dropout: float | None = None
    token_dropout: float | None = None
    min_count: int = 2
    unk: bool = True
    token_parts: bool = False
    epochs: int | None = None
    patience: int = 5
    lr: float | None = None
    warmup: int | None = None
    schedule: ScheduleName = "plateau"
    halve_after: int = 2
    weight_decay: float | None = None
    optimizer: OptimizerName = "adamw"
    beta1: float = 0.9
    eps: float = 1e-8
    clip: float = 5.0
    averaging: float | None = None
    vectors: str | None = None
    from_: str | None = None
    token_range: float | None = None
    frozen: bool = False
    batch_nodes: int | None = None
    batch_size: int | None = None
    batch_words: int | None = None
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"
    devices: int = 1
    machines: int = 1
    threads: int | None = None
    precision: Literal["32", "bf16-mixed", "16-mixed"] = "32"
    accumulate: int = 1
    max_time: str | None = None
    class_weights: Literal["balanced"] | None = None
    threshold: str | None = None
    log: Literal["csv", "tensorboard"] | None = None
    baseline: BaselineSearch = "full"
    no_baseline: bool = False
    split_of: str | None = None

    def __post_init__(self) -> None:
        check_types(self)
        for least, names in MINIMA.items():
            for name in names.split():
                number = getattr(self, name)
                if number is not None and number < least:
                    raise ValueError(f"{name} is {number}; it must be {least} or more")
        for name in ("lr", "eps", "clip", "token_range"):
            number = getattr(self, name)
            if number is not None and number <= 0:
                raise ValueError(f"{name} is {number}; it must be above 0")
        if self.token_range is not None and self.vectors is not None:
            raise ValueError("token_range and vectors both set the initial token vectors; give only one of the two")
        if self.batch_words is not None and self.batch_size is None:
            raise ValueError(f"batch_words is {self.batch_words}, but there is no batch_size; give one")
        if self.schedule != "plateau" and self.epochs is None:
            raise ValueError(
                f"schedule is {self.schedule}; also give epochs, because the learning rate reaches 0 at the end of "
                "the last epoch"
            )
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed is {self.seed}; it must be from 0 to {2**31 - 1}")
        if self.max_time and not re.fullmatch(r"\d+(:\d\d){3}", self.max_time):
            raise ValueError(
                f"max_time is {self.max_time!r}; it must be days:hours:minutes:seconds, such as 00:02:30:00"
            )
        if self.log == "tensorboard" and not any(map(find_spec, TENSORBOARD)):
            raise ModuleNotFoundError("log is tensorboard, which is not installed", name="tensorboard")
        if self.threshold is not None:
            parse_threshold(self.threshold)
            if self.task == "regress":
                raise ValueError("threshold is for classes, but the task is 'regress'")
        if self.class_weights and self.task == "regress":
            raise ValueError("class_weights are for classes, but the task is 'regress'")
        if self.no_baseline and self.baseline != "full":
            raise ValueError(
                f"baseline is {self.baseline!r}, but no_baseline leaves the baseline out: give only one of the two"
            )
        for name in ("dropout", "input_dropout", "beta1", "averaging"):
            share = getattr(self, name)
            if share is not None and not 0 <= share < 1:
                raise ValueError(f"{name} is {share}; it must be a probability from 0 to below 1")

    @property
    def most_epochs(self) -> int:
        """Passes over the training set after which a training ends at the latest."""
        return MOST_EPOCHS if self.epochs is None else self.epochs

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def identity(self) -> dict[str, Any]:
        """The identity of a training: a folder with another one is refused."""
        passing = PASSING if self.schedule == "plateau" else PASSING - {"epochs"}
        return {name: value for name, value in self.to_json().items() if name not in passing}


def parse_threshold(text: str) -> tuple[str, str, float]:
    """The class of a threshold, whether it is ``given`` or chosen by ``f1`` or ``recall``, and the number.

    Raises ``ValueError`` for another form, and for a number out of range.
    """
    name, equals, rule = text.rpartition("=")
    wrong = ValueError(f"threshold is {text!r:.60}; it must be {THRESHOLD_FORMS}")
    if not equals or not name:
        raise wrong
    if rule == "f1":
        return name, "f1", 0.0
    by, colon, written = rule.partition(":")
    if not colon:
        by = "given"
        written = rule
    elif by not in ("recall", "precision"):
        raise wrong
    try:
        number = float(written)
    except ValueError:
        raise wrong from None
    if not 0 <= number <= 1 or (by != "given" and number == 0):
        raise wrong
    return name, by, number
