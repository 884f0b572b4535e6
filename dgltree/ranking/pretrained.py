"""Models are opened by name or file: what comes with the package, and the user's own.

The published weights of the Tree-SMU papers (Arabshahi et al. 2021, arXiv 1911.01545) become models of ours.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells import Cell, TreeLSTM, TreeRNN, TreeSMU
from dgltree.encoders import TreeEncoder
from dgltree.models.checkpoint import load_model
from dgltree.models.readouts import EquationReadout
from dgltree.models.tree_model import EquationModel, PairModel, TreeModel
from dgltree.ranking.pretrained_files import FOLDER, LISTOPS, LOGIC, model_file

TORCH_MAGIC = bytes.fromhex("80028a0a6cfc9c46f920")  # how a legacy torch file begins, as the published weights are


def open_model(name_or_file: str | Path = "default") -> EquationModel:
    """Open a model of equations as :func:`open_any` does. Raises ``ValueError`` for another one.

    Examples:
        >>> import dgltree
        >>> type(dgltree.open_model()).__name__
        'EquationModel'
    """
    model = open_any(name_or_file)
    if not isinstance(model, EquationModel):
        reads = "reads no equations"
        if model.classes:
            reads += f" but classifies into {', '.join(model.classes)}"
        raise ValueError(f"{name_or_file} {reads}: use dgltree.load")
    return model


def open_any(name_or_file: str | Path) -> TreeModel:
    """Open a shipped model by its name, else a file that dgltree saved, or published weights of the Tree-SMU papers.

    Weights that are kept in 16 bits are computed with in float32.

    Raises ``FileNotFoundError`` if there is neither, and ``ValueError`` as ``dgltree.load`` and
    ``dgltree.load_published`` do.
    """
    path = model_file(name_or_file)
    with path.open("rb") as file:
        beginning = file.read(len(TORCH_MAGIC))
    if beginning == TORCH_MAGIC:
        model: TreeModel = load_published(path)
    else:
        model = load_model(path)
    if next(model.parameters()).dtype in (torch.float16, torch.bfloat16):
        model = model.float()
    return model


def logic_model() -> PairModel:
    """The shipped Ordered Memory, trained on logic: which of seven relations holds between two formulas."""
    model = load_model(FOLDER / LOGIC)
    assert isinstance(model, PairModel)
    return model


def listops_model() -> TreeModel:
    """The shipped Efficient Beam Tree, trained on ListOps: which digit a nested list is worth."""
    return load_model(FOLDER / LISTOPS)


LEAVES = ("Symbol", "Integer", "Rational", "Float", "NegativeOne", "NaN", "Infinity", "Exp1", "Pi", "Half")
CIRCULAR = ("sin", "cos", "csc", "sec", "tan", "cot")
HYPERBOLIC = ("sinh", "cosh", "csch", "sech", "tanh", "coth")
INVERSE = tuple(f"a{function}" for function in CIRCULAR + HYPERBOLIC)
UNARY = (*CIRCULAR, *HYPERBOLIC, *INVERSE, "exp")
BINARY = ("Add", "Mul", "Pow", "log")
# In the order of the rows of "Symbol.weight". None: "Rational 0" and "One", which readers turn into Integers 0 and 1.
ROWS = (
    *(f"var_{i}" for i in range(10)),
    *(str(i) for i in range(11)),
    *("-2", "-3", "2/5", "-1/2", None, "0.7", "-1", "nan", "oo", "e", "pi", None, "1/2"),
)
VOCABULARY = Vocabulary(
    [(leaf, 0) for leaf in LEAVES] + [(function, 1) for function in UNARY] + [(function, 2) for function in BINARY],
    [token for token in ROWS if token is not None],
)
LEFT_OUT = ("Number_enc.", "Number_dec.")
"""Beginnings of the names of tensors for which our models of equations have no slot."""


OPTIONS_OF = "sin"
"""The function whose tensors imply the options of a Tree-SMU; all functions have the same."""
PUBLISHED_STACK = 5
"""Rows of the stack of a published Tree-SMU, unless it reads more."""


class ReadTensors:
    """The tensors of a file, which remember which of them were read, and are refused where they are not as expected.

    Args:
        path: of the file, for messages.
        tensors: by name.
    """

    def __init__(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        self.path = path
        self.tensors = tensors
        self.unread = {name for name in tensors if not name.startswith(LEFT_OUT)}

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def read(self, name: str, *shape: int | None) -> Tensor:
        """A tensor of this shape; None: any size from 1.

        Raises ``ValueError`` if there is none, and for another shape or dtype, which ``copy_`` might broadcast or cast.
        """
        if name not in self.tensors:
            raise self._refused(f"there is no {name}")
        tensor = self.tensors[name]
        sizes = tuple(tensor.shape)
        # An expected None is as what is there, unless that is 0.
        expected = tuple(found if size is None else size for found, size in zip(sizes, shape, strict=False))
        if len(sizes) != len(shape) or sizes != expected or 0 in sizes or not tensor.is_floating_point():
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise self._refused(f"{name} is {sizes} {tensor.dtype}; it must be ({wanted}), floating-point")
        self.unread.discard(name)
        return tensor

    def gate(
        self,
        name: str,
        rows: int,
        columns: int,
    ) -> tuple[Tensor, Tensor]:
        """The weight (rows, columns) and the bias (rows,) of a linear map."""
        weight = self.read(f"{name}.weight", rows, columns)
        bias = self.read(f"{name}.bias", rows)
        return weight, bias

    def _refused(self, reason: str) -> ValueError:
        return ValueError(f"{self.path}: not the weights of a published Tree-RNN, Tree-LSTM or Tree-SMU ({reason})")


def load_published(path: str | Path) -> EquationModel:
    """A published checkpoint (Tree-RNN, Tree-LSTM or Tree-SMU, told apart by its parameter names), in evaluation mode.

    The options of a Tree-SMU are those that its parameters imply: pop, no-op, the data gate (the program's
    ``likeLSTM``), and how many rows of the stack are read (its ``top_k``, gated or not). What cannot be seen in the
    weights is as in the published training: five rows of the stack, normalized actions. The number encoder and decoder
    are left out, because equations of ours have no numbers to encode.

    Raises ``FileNotFoundError``, and ``ValueError`` for a file that is not a legacy torch file of tensors, or whose
    parameters are not those of one of the three models, each of them. Nothing is unpickled but tensors
    (``weights_only``).
    """
    path = Path(path)
    weights = ReadTensors(path, _read(path))
    model = _model_of(weights)
    if weights.unread:
        first, *others = sorted(weights.unread)
        if others:
            first += f" and {len(others)} others"
        raise ValueError(
            f"{path}: a {type(model.cell).__name__} has no use for {first}, and would compute something else without "
            "these weights"
        )
    return model


def _model_of(weights: ReadTensors) -> EquationModel:
    """The model with these weights, in evaluation mode."""
    symbols = weights.read("Symbol.weight", len(ROWS), None)
    n = symbols.shape[1]
    rows: Callable[[ReadTensors, str, int, int], Gates]
    if f"{OPTIONS_OF}.linear.weight" in weights:
        cell: Cell = TreeRNN(VOCABULARY, n)
        rows = _tree_rnn_rows
    elif f"{OPTIONS_OF}.forget.weight" in weights:
        cell = TreeLSTM(VOCABULARY, n)
        rows = _tree_lstm_rows
    else:
        options = _tree_smu_options(weights, n)
        cell = TreeSMU(VOCABULARY, n, **options._asdict())
        rows = partial(_tree_smu_rows, options)
    readout = EquationReadout()
    with torch.no_grad():
        kept = [i for i, token in enumerate(ROWS) if token is not None]
        _fill(cell.embedding.weight, symbols[kept])
        for arity, functions in ((1, UNARY), (2, BINARY)):
            gates = cell.named_maps()[f"gates_{arity}"]
            assert gates.bias is not None
            for function in functions:
                matrix = gates.position[VOCABULARY.function_id(function, arity)]
                pairs = rows(weights, function, arity, n)
                _fill(gates.weight[matrix], torch.cat([weight for weight, _ in pairs]))
                _fill(gates.bias[matrix], torch.cat([bias for _, bias in pairs]))
        _fill(readout.bias, weights.read("bias", 1))
    return EquationModel(TreeEncoder(cell), readout).eval()


def _fill(target: Tensor, source: Tensor) -> None:
    """Copy a source of the target's shape, which was compared with the file when it was read."""
    assert target.shape == source.shape, (target.shape, source.shape)
    target.copy_(source)


def _read(path: Path) -> dict[str, Tensor]:
    """The tensors of a legacy torch file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises whatever its unpickler meets
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path}: not a torch file of tensors ({reason})") from None
    if not isinstance(weights, dict):
        raise ValueError(f"{path}: not a dict of tensors")
    for name, tensor in weights.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise ValueError(f"{path}: not a dict of tensors by name")
    return weights


# The names of a function's gates in a checkpoint differ from model to model. Each of these gives (weight, bias) of the
# gates in the order of the cell's ``gates``; weights are (n, arity * n), unless a gate says for each row of a stack
# whether it is read.
Gates = list[tuple[Tensor, Tensor]]


def _tree_rnn_rows(
    weights: ReadTensors,
    function: str,
    arity: int,
    n: int,
) -> Gates:
    return [weights.gate(f"{function}.linear", n, arity * n)]


def _tree_lstm_rows(
    weights: ReadTensors,
    function: str,
    arity: int,
    n: int,
) -> Gates:
    gates = ("input", "data", "output")  # u, in, o: the published "data" is the input gate
    if arity == 1:
        return [weights.gate(f"{function}.{gate}", n, n) for gate in (*gates, "forget")]

    def side_by_side(name: str) -> Tensor:
        left = weights.read(f"{function}.{name}_left.weight", n, n)
        right = weights.read(f"{function}.{name}_right.weight", n, n)
        return torch.cat([left, right], 1)

    rows = []
    for gate in gates:
        bias = weights.read(f"{function}.{gate}_bias", n)
        rows.append((side_by_side(gate), bias))
    for child in ("left", "right"):
        bias = weights.read(f"{function}.forget_bias_{child}", n)
        rows.append((side_by_side(f"forget_{child}_by"), bias))
    return rows


class ImpliedOptions(NamedTuple):
    """The options of a :class:`TreeSMU` that the names and shapes of its parameters imply."""

    stack_size: int
    top_k: int
    gated_top_k: bool
    pop: bool
    no_op: bool
    data_gate: bool


def _tree_smu_options(weights: ReadTensors, n: int) -> ImpliedOptions:
    gated = 0
    while f"{OPTIONS_OF}.pos_linear_{gated + 1}.weight" in weights:
        gated += 1
    top_k = max(gated, 1)
    if f"{OPTIONS_OF}.pos_linear.weight" in weights:
        top_k = len(weights.read(f"{OPTIONS_OF}.pos_linear.weight", None, n))
    return ImpliedOptions(
        stack_size=max(PUBLISHED_STACK, top_k),
        top_k=top_k,
        gated_top_k=gated > 0,
        pop=f"{OPTIONS_OF}_stack.pop_gate_linear.weight" in weights,
        no_op=f"{OPTIONS_OF}_stack.no_op_gate_linear.weight" in weights,
        data_gate=f"{OPTIONS_OF}_stack.data_linear.weight" in weights,
    )


def _tree_smu_rows(
    options: ImpliedOptions,
    weights: ReadTensors,
    function: str,
    arity: int,
    n: int,
) -> Gates:
    names = [f"{function}_stack.input_linear", f"{function}.o_linear", f"{function}_stack.push_gate_linear"]
    if options.pop:
        names.append(f"{function}_stack.pop_gate_linear")
    if options.no_op:
        names.append(f"{function}_stack.no_op_gate_linear")
    if arity == 1:
        names.append(f"{function}_stack.gate_linear")
    else:
        names.append(f"{function}_stack.gate_linear_l")
        names.append(f"{function}_stack.gate_linear_r")
    if options.data_gate:
        names.append(f"{function}_stack.data_linear")
    if options.gated_top_k and options.top_k > 1:
        names += [f"{function}.pos_linear_{k}" for k in range(1, options.top_k + 1)]
    gates = [weights.gate(name, n, arity * n) for name in names]
    if options.top_k > 1 and not options.gated_top_k:
        gates.append(weights.gate(f"{function}.pos_linear", options.top_k, arity * n))
    return gates
