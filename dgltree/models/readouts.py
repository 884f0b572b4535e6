"""States to logits or numbers."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from dgltree.models.label_scales import LabelScale
from dgltree.support.arguments import check_dropout


class Readout(nn.Module):
    """The head on an encoder that ``dgltree fit`` can train.

    Its constructor takes what of ``size``, ``classes``, ``hidden_size`` and ``dropout`` it needs, by these names, and
    keeps its arguments as ``config``.
    """

    gives: ClassVar[Literal["classes", "numbers"]]
    """Logits of classes (..., C), or numbers (...)."""
    config: dict[str, Any]

    @abstractmethod
    def rescale(self, mean: float, deviation: float) -> None:
        """Give, from now on, ``mean + deviation * v`` for v.

        For numbers that were standardised in training, and for logits that are divided by a temperature.
        """


class EquationReadout(nn.Module):
    r"""Whether two sides are equal (Arabshahi et al. 2019 and 2021, arXiv 1911.01545).

    .. math:: logit = h_{lhs} \cdot h_{rhs} + b, \qquad P(correct) = \sigma(logit)

    The bias starts at 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Logits of sides (..., n) and (..., n), which broadcast: (...)."""
        return (left * right).sum(-1) + self.bias


class ClassifierReadout(Readout):
    """Classes of single states, as Ordered Memory reads them (Shen et al. 2019, arXiv 1910.13466).

    Without ``hidden_size`` (its ListOps form): dropout, linear. With it (its SST form): dropout, linear, ReLU, dropout,
    linear.

    Args:
        size: n, the width of a state.
        classes: C, the number of classes.
        hidden_size: the width of the hidden layer; None: there is none.
        dropout: probability, in training only.

    Raises ``ValueError`` for a width or number below 1, and a dropout outside of 0 to below 1.
    """

    gives = "classes"
    activation: ClassVar[type[nn.Module]] = nn.ReLU

    def __init__(
        self,
        size: int,
        classes: int,
        hidden_size: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.config = _checked(size, classes, hidden_size, dropout)
        layers: list[nn.Module] = [nn.Dropout(dropout)]
        if hidden_size is not None:
            layers.append(nn.Linear(size, hidden_size))
            layers.append(self.activation())
            layers.append(nn.Dropout(dropout))
        layers.append(nn.Linear(hidden_size or size, classes))
        self.layers = nn.Sequential(*layers)

    def forward(self, states: Tensor) -> Tensor:
        """Logits of states (..., n): (..., C)."""
        return self.layers(states)

    def rescale(self, mean: float, deviation: float) -> None:
        _rescale(self.layers[-1], mean, deviation)


class GELUClassifierReadout(ClassifierReadout):
    """Classes of single states, as papers on latent trees read them (Ray Chowdhury & Caragea 2023, arXiv 2305.19999).

    The hidden layer is always there, of width n for None, and has GELU in place of ReLU.
    """

    activation = nn.GELU

    def __init__(
        self,
        size: int,
        classes: int,
        hidden_size: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        if hidden_size is None:
            hidden_size = size
        super().__init__(size, classes, hidden_size, dropout)


class PairReadout(Readout):
    r"""Classes of pairs of states, as Ordered Memory reads the pairs of logic (Shen et al. 2019, arXiv 1910.13466).

    An MLP over :math:`[h_1; h_2; h_1 \odot h_2; |h_1 - h_2|]`: dropout, linear, ELU, dropout, linear. The order of the
    two states matters.

    Args:
        size: n, the width of a state.
        classes: C, the number of classes.
        hidden_size: the width of the hidden layer; None: n.
        dropout: probability, in training only.

    Raises ``ValueError`` for a width or number below 1, and a dropout outside of 0 to below 1.
    """

    gives = "classes"
    activation: ClassVar[type[nn.Module]] = nn.ELU

    def __init__(
        self,
        size: int,
        classes: int,
        hidden_size: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if hidden_size is None:
            hidden_size = size
        self.config = _checked(size, classes, hidden_size, dropout)
        self.layers = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(4 * size, hidden_size),
            self.activation(),
            nn.Dropout(dropout),
            nn.Linear(hidden_size, classes),
        )

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Logits of states (..., n) and (..., n), of one shape: (..., C)."""
        distance = (first - second).abs()
        inputs = torch.cat([first, second, first * second, distance], -1)
        return self.layers(inputs)

    def rescale(self, mean: float, deviation: float) -> None:
        _rescale(self.layers[-1], mean, deviation)


class GELUPairReadout(PairReadout):
    """Classes of pairs of states, as papers on latent trees read them (Ray Chowdhury & Caragea 2023, arXiv 2305.19999).

    A :class:`PairReadout` with GELU in place of ELU.
    """

    activation = nn.GELU


class NumberReadout(Readout):
    r"""The number that an expression is equal to (Arabshahi et al. 2019, arXiv 1911.01545).

    .. math:: v = W_2 \sigma(W_1 h + b_1) + b_2

    The names of the parameters are those of the published ``Number_dec``. Trained by the squared error.

    Args:
        size: n, the width of a state and of the hidden layer.
        centre: (m, d): m + d v is given in float64 in the place of v; None: v, in the states' dtype.
        scale: v is on this scale (:class:`dgltree.models.label_scales.LabelScale`, as JSON), and what is given is the
            number in its own unit; None: v is given.

    Raises ``ValueError`` for a width below 1, for no scale, and for a centre that is not two finite numbers.
    """

    gives = "numbers"

    def __init__(
        self,
        size: int,
        scale: dict[str, Any] | None = None,
        centre: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        if size < 1:
            raise ValueError(f"size is {size}; it must be 1 or more")
        self.config: dict[str, Any] = {"size": size}
        self.centre: tuple[float, float] | None = None
        if centre is not None:
            if len(centre) != 2 or not all(map(math.isfinite, centre)):
                raise ValueError(f"centre is {centre!r:.60}; it must be a mean and a standard deviation")
            self.rescale(*centre)
        self.scaled(LabelScale.from_json(scale))
        self.linear1 = nn.Linear(size, size)
        self.linear2 = nn.Linear(size, 1)

    def forward(self, states: Tensor) -> Tensor:
        """Numbers of states (..., n): (...), of the states' dtype, or float64 with a centre."""
        hidden = torch.sigmoid(self.linear1(states))
        v = self.linear2(hidden).squeeze(-1)
        if self.centre is not None:
            mean, deviation = self.centre
            v = mean + deviation * v.double()
        return self.scale.back(v)

    def scaled(self, scale: LabelScale) -> None:
        """Give, from now on, numbers of this scale in their own unit."""
        self.scale = scale
        if scale.name != "none":
            self.config["scale"] = scale.to_json()

    def rescale(self, mean: float, deviation: float) -> None:
        old_mean, old_deviation = self.centre or (0.0, 1.0)
        self.centre = (mean + deviation * old_mean, deviation * old_deviation)
        self.config["centre"] = list(self.centre)


def _rescale(
    last: nn.Module,
    mean: float,
    deviation: float,
) -> None:
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.mul_(deviation)
        last.bias.mul_(deviation).add_(mean)


def _checked(
    size: int,
    classes: int,
    hidden_size: int | None,
    dropout: float,
) -> dict[str, Any]:
    """The arguments of a readout by their names. Raises ``ValueError`` for what the readouts of classes refuse."""
    config = {"size": size, "classes": classes, "hidden_size": hidden_size}
    for name, number in config.items():
        if number is not None and number < 1:
            raise ValueError(f"{name} is {number}; it must be 1 or more")
    check_dropout(dropout)
    return {**config, "dropout": dropout}
