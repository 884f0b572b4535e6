"""Operations that torch computes in ways that no program can say, by their equations.

Recurrent cells add in place inside; an einsum does something else where a size is 1.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.support.torch_internals import set_grad_enabled


def gru_cell(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor | None, b_h: Tensor | None) -> Tensor:
    """``torch.nn.GRUCell``: (rows, n) of (rows, d) and (rows, n)."""
    x_r, x_z, x_n = linear(x, w_x, b_x).chunk(3, -1)
    h_r, h_z, h_n = linear(h, w_h, b_h).chunk(3, -1)
    r = torch.sigmoid(x_r + h_r)
    z = torch.sigmoid(x_z + h_z)
    n = torch.tanh(x_n + r * h_n)
    return n + z * (h - n)


def lstm_cell(
    x: Tensor, state: tuple[Tensor, Tensor], w_x: Tensor, w_h: Tensor, b_x: Tensor | None, b_h: Tensor | None
) -> tuple[Tensor, Tensor]:
    """``torch.nn.LSTMCell``: h and c, (rows, n) each."""
    h, c = state
    i, f, g, o = (linear(x, w_x, b_x) + linear(h, w_h, b_h)).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def rnn_tanh_cell(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor | None, b_h: Tensor | None) -> Tensor:
    """``torch.nn.RNNCell``."""
    return torch.tanh(linear(x, w_x, b_x) + linear(h, w_h, b_h))


def rnn_relu_cell(x: Tensor, h: Tensor, w_x: Tensor, w_h: Tensor, b_x: Tensor | None, b_h: Tensor | None) -> Tensor:
    """``torch.nn.RNNCell(nonlinearity="relu")``."""
    return torch.relu(linear(x, w_x, b_x) + linear(h, w_h, b_h))


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """``torch.nn.functional.one_hot``, which looks at the numbers to find that they are in range."""
    if num_classes < 0:
        return torch.nn.functional.one_hot(x)
    return (x.unsqueeze(-1) == torch.arange(num_classes)).long()


def einsum(equation: str, *operands: Any) -> Tensor:
    """``torch.einsum`` of tensors none of whose axes is repeated, one product of matrices after the other."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    names = inputs.split(",")
    is_plain = all(len(set(axes)) == len(axes) and "." not in axes for axes in names)
    if len(operands) != len(names) or not is_plain or "->" not in equation or not set(output) <= set(inputs):
        return torch.einsum(equation, *operands)
    if _broadcasts(names, operands):
        return torch.einsum(equation, *operands)
    product = operands[0]
    axes = names[0]
    for number in range(1, len(names)):
        needed = "".join(names[number + 1 :]) + output
        kept = "".join(dict.fromkeys(name for name in axes + names[number] if name in needed))
        product = _product(product, axes, operands[number], names[number], kept)
        axes = kept
    product, axes = _without(product, axes, output)
    return product.permute([axes.index(name) for name in output])


def _broadcasts(names: list[str], operands: tuple[Tensor, ...]) -> bool:
    """Whether an axis has two sizes, one of which is 1, or whether torch has to say what is wrong with a shape."""
    size_of: dict[str, int] = {}
    for axes, operand in zip(names, operands, strict=True):
        if len(axes) != operand.dim():
            return True
        for axis, size in zip(axes, operand.shape, strict=True):
            if size_of.setdefault(axis, size) != size:
                return True
    return False


def _product(x: Tensor, x_axes: str, y: Tensor, y_axes: str, output: str) -> Tensor:
    """An einsum of two tensors as a product of matrices, for each index of the axes that all three have."""
    x, x_axes = _without(x, x_axes, y_axes + output)
    y, y_axes = _without(y, y_axes, x_axes + output)
    shared = [name for name in x_axes if name in y_axes and name in output]
    summed = [name for name in x_axes if name in y_axes and name not in output]
    left = [name for name in x_axes if name not in y_axes]
    right = [name for name in y_axes if name not in x_axes]
    sizes = dict(zip(x_axes, x.shape, strict=True)) | dict(zip(y_axes, y.shape, strict=True))
    rows = prod(sizes[name] for name in left)
    inner = prod(sizes[name] for name in summed)
    columns = prod(sizes[name] for name in right)
    x = x.permute([x_axes.index(name) for name in (*shared, *left, *summed)])
    y = y.permute([y_axes.index(name) for name in (*shared, *summed, *right)])
    if shared:
        batch = prod(sizes[name] for name in shared)
        product = torch.bmm(x.reshape(batch, rows, inner), y.reshape(batch, inner, columns))
    else:
        product = torch.mm(x.reshape(rows, inner), y.reshape(inner, columns))
    axes = [*shared, *left, *right]
    product = product.reshape([sizes[name] for name in axes])
    return product.permute([axes.index(name) for name in output])


def _without(x: Tensor, axes: str, kept: str) -> tuple[Tensor, str]:
    """A tensor summed over the axes that nothing else has."""
    summed = [axis for axis, name in enumerate(axes) if name not in kept]
    if summed:
        x = x.sum(summed)
    return x, "".join(name for name in axes if name in kept)


WRITTEN_OUT: dict[Any, Any] = {
    torch.einsum: einsum,
    torch.nn.functional.one_hot: one_hot,
    torch.gru_cell: gru_cell,
    torch.lstm_cell: lstm_cell,
    torch.rnn_tanh_cell: rnn_tanh_cell,
    torch.rnn_relu_cell: rnn_relu_cell,
}


_attributes: Any = Tensor
NOT_SEEN: dict[Any, str] = {
    set_grad_enabled: "gradients are switched on or off: use detach()",
    _attributes.data.__get__: "a tensor is detached by .data: use detach()",
    _attributes.requires_grad.__get__: "the functions read requires_grad",
    _attributes.grad_fn.__get__: "the functions read grad_fn",
    _attributes.is_leaf.__get__: "the functions read is_leaf",
}
"""What decides about gradients and is no operation on numbers."""


class Equations(TorchFunctionMode):
    """While it is on, these operations are computed by the functions above, and what a program cannot say is refused.

    Args:
        line: gives the line of the user's function that runs.
    """

    def __init__(self, line: Callable[[], object]) -> None:
        super().__init__()
        self.line = line

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in NOT_SEEN:
            raise NotAProgramError(f"{NOT_SEEN[function]}: {self.line()}")
        return WRITTEN_OUT.get(function, function)(*args, **(kwargs or {}))
