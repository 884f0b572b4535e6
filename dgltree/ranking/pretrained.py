"""Models are opened by name or file: what comes with the package, and the user's own.

The published weights of the Tree-SMU papers (Arabshahi et al. 2021, arXiv 1911.01545) become models of ours.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
        raise ValueError(
            f"{name_or_file} reads no equations but classifies into {', '.join(model.classes)}: use dgltree.load"
        )
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


class ReadTensors(dict[str, Tensor]):
    """Tensors by name, which remember which of them were read."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        super().__init__(tensors)
        self.unread = {name for name in tensors if not name.startswith(LEFT_OUT)}

    def __getitem__(self, name: str) -> Tensor:
        self.unread.discard(name)
        return super().__getitem__(name)

    def gate(self, name: str) -> tuple[Tensor, Tensor]:
        """The weight and the bias of a linear map."""
        return self[f"{name}.weight"], self[f"{name}.bias"]


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
    weights = ReadTensors(_read(Path(path)))
    try:
        model = _model_of(weights)
    except (KeyError, IndexError, RuntimeError) as error:
        raise ValueError(f"{path}: not the weights of a published Tree-RNN, Tree-LSTM or Tree-SMU ({error})") from None
    if weights.unread:
        first, *others = sorted(weights.unread)
        if others:
            first += f" and {len(others)} others"
        raise ValueError(
            f"{path}: a {type(model.cell).__name__} has no slot for {first}, "
            "and without them it would compute something else"
        )
    return model


def _model_of(weights: ReadTensors) -> EquationModel:
    """The model with these weights, in evaluation mode."""
    n = weights["Symbol.weight"].shape[1]
    if "sin.linear.weight" in weights:
        cell: Cell = TreeRNN(VOCABULARY, n)
        rows = _tree_rnn_rows
    elif "sin.forget.weight" in weights:
        cell = TreeLSTM(VOCABULARY, n)
        rows = _tree_lstm_rows
    else:
        cell = TreeSMU(VOCABULARY, n, **_tree_smu_options(weights))
        rows = _tree_smu_rows
    readout = EquationReadout()
    with torch.no_grad():
        kept = [i for i, token in enumerate(ROWS) if token is not None]
        cell.embedding.weight.copy_(weights["Symbol.weight"][kept])
        for arity, functions in ((1, UNARY), (2, BINARY)):
            gates = cell.named_maps()[f"gates_{arity}"]
            assert gates.bias is not None
            for function in functions:
                matrix = gates.position[VOCABULARY.function_id(function, arity)]
                pairs = rows(weights, function, arity)
                gates.weight[matrix].copy_(torch.cat([weight for weight, _ in pairs]))
                gates.bias[matrix].copy_(torch.cat([bias for _, bias in pairs]))
        readout.bias.copy_(weights["bias"])
    return EquationModel(TreeEncoder(cell), readout).eval()


def _read(path: Path) -> dict[str, Tensor]:
    """The tensors of a legacy torch file."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises whatever its unpickler meets
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path}: not a torch file of tensors ({reason})") from None
    if not isinstance(weights, dict) or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise ValueError(f"{path}: not a dict of tensors")
    return weights


# The names of a function's gates in a checkpoint differ from model to model. Each of these gives (weight, bias) of the
# gates in the order of the cell's ``gates``; weights are (n, arity * n).
Gates = list[tuple[Tensor, Tensor]]


def _tree_rnn_rows(
    weights: ReadTensors,
    function: str,
    arity: int,
) -> Gates:
    return [weights.gate(f"{function}.linear")]


def _tree_lstm_rows(
    weights: ReadTensors,
    function: str,
    arity: int,
) -> Gates:
    gates = ("input", "data", "output")  # u, in, o: the published "data" is the input gate
    if arity == 1:
        return [weights.gate(f"{function}.{gate}") for gate in (*gates, "forget")]

    def side_by_side(name: str) -> Tensor:
        left = weights[f"{function}.{name}_left.weight"]
        right = weights[f"{function}.{name}_right.weight"]
        return torch.cat([left, right], 1)

    rows = []
    for gate in gates:
        rows.append((side_by_side(gate), weights[f"{function}.{gate}_bias"]))
    for child in ("left", "right"):
        rows.append((side_by_side(f"forget_{child}_by"), weights[f"{function}.forget_bias_{child}"]))
    return rows


def _tree_smu_options(weights: ReadTensors) -> dict[str, Any]:
    """The options of a Tree-SMU that its parameters imply."""
    gated = sum(f"sin.pos_linear_{k}.weight" in weights for k in range(1, len(weights)))
    top_k = max(gated, 1)
    if "sin.pos_linear.weight" in weights:
        top_k = len(weights["sin.pos_linear.weight"])
    return {
        "stack_size": max(5, top_k),
        "top_k": top_k,
        "gated_top_k": gated > 0,
        "pop": "sin_stack.pop_gate_linear.weight" in weights,
        "no_op": "sin_stack.no_op_gate_linear.weight" in weights,
        "data_gate": "sin_stack.data_linear.weight" in weights,
    }


def _tree_smu_rows(
    weights: ReadTensors,
    function: str,
    arity: int,
) -> Gates:
    options = _tree_smu_options(weights)
    names = [f"{function}_stack.input_linear", f"{function}.o_linear", f"{function}_stack.push_gate_linear"]
    for action in ("pop", "no_op"):
        if options[action]:
            names.append(f"{function}_stack.{action}_gate_linear")
    if arity == 1:
        names.append(f"{function}_stack.gate_linear")
    else:
        names.append(f"{function}_stack.gate_linear_l")
        names.append(f"{function}_stack.gate_linear_r")
    if options["data_gate"]:
        names.append(f"{function}_stack.data_linear")
    if options["top_k"] > 1:
        if options["gated_top_k"]:
            names += [f"{function}.pos_linear_{k}" for k in range(1, options["top_k"] + 1)]
        else:
            names.append(f"{function}.pos_linear")
    return [weights.gate(name) for name in names]
