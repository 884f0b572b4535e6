"""The contract of a cell, which its author writes: its state, its gates, and how a node's state follows from them.

A cell states its mathematics once (``state``, ``gates``, ``combine``). The level engine, the DGL functions, ranking,
tracing and the tests' recursion all call the same ``combine``; they differ only in which rows they bring together.
:class:`dgltree.cells.Cell`, from which cells derive, adds what follows from it.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from dgltree.arguments import check_dropout, check_size
from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.base import CellBase
from dgltree.cells.inputs import Leaf
from dgltree.cells.kernel_options import Fused
from dgltree.cells.step import Children, Computed, State
from dgltree.cells.typed_linear import Affine, Linear


class CellContract(CellBase):
    """A recursive cell. Its weights belong to a (function, arity) of the vocabulary, or to an arity.

    Args:
        vocabulary: the functions and tokens.
        hidden_size: n, the width of the hidden state h.
        typed: whether each function has weights of its own. Otherwise all functions of an arity share them.
        rank: 0, or of a typed cell the rank of what is a function's own: the matrix of each gate is W + U_f V_f, where
            all functions of an arity share W, and U_f has so many columns.
        input_size: d, the width of input vectors. Without it the cell has no inputs. With it every gate also gets
            ``W_f^x x_j``; x_j comes from the batch's ``x``, else it is the embedding of the node's token or number (0
            for a node without one).
        leaf: what a leaf's state is. "embedding": ``h = Embedding[token]``, other parts 0 (published). "network":
            ``h = sigma(W_2 sigma(W_1 onehot + b_1) + b_2)``, other parts 0 (Arabshahi et al. 2019, arXiv 1911.01545v1).
            "gates": the cell itself runs on x with no children (Tai et al. 2015, arXiv 1503.00075); it needs
            ``input_size``.
        functions: whether x_j is that plus the embedding of the name of the node's function. A cell whose
            functions share their weights sees functions in no other way. It needs ``input_size``.
        numbers: whether leaves may carry a number, which :class:`NumberEncoder` then turns into h (or x, for "gates").
        number_scale: (m, s), to read :math:`asinh((v - m) / s)` of a number v; None: v itself.
        dropout: probability, in training only; where it acts is stated by each cell.

    Initialisation: each product is a torch ``Linear`` of its own fan-in m: weights and biases U(-1/sqrt(m), 1/sqrt(m));
    embeddings N(0, 1). A cell that differs says so. ``torch.manual_seed`` before building gives the same weights.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        hidden_size: int,
        *,
        typed: bool = True,
        rank: int = 0,
        input_size: int | None = None,
        leaf: Leaf = "embedding",
        functions: bool = False,
        numbers: bool = False,
        number_scale: Sequence[float] | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("hidden_size", hidden_size)
        if input_size is not None:
            check_size("input_size", input_size)
        if leaf not in ("embedding", "network", "gates"):
            raise ValueError(f"leaf is {leaf!r}; it must be 'embedding', 'network' or 'gates'")
        if leaf == "gates" and input_size is None:
            raise ValueError("leaf='gates' runs the gates on a leaf's input: give input_size")
        if functions and input_size is None:
            raise ValueError("functions=True adds the embedding of a node's function to its input: give input_size")
        if number_scale is not None and (len(number_scale) != 2 or not number_scale[1] > 0):
            raise ValueError(f"number_scale is {number_scale!r}; it must be a middle and a spread above 0")
        if not isinstance(rank, int) or rank < 0 or (rank and not typed):
            raise ValueError(
                f"rank is {rank!r}; it must be a whole number, 0 or more, and 0 if functions share weights"
            )
        check_dropout(dropout)
        self.vocabulary = vocabulary
        self.hidden_size = hidden_size
        self.typed = typed
        self.rank = rank
        self.input_size = input_size
        self.leaf = leaf
        self.functions = functions
        self.numbers = numbers
        self.number_scale = None if number_scale is None else (number_scale[0], number_scale[1])
        self.dropout = dropout

    @abstractmethod
    def gates(self, arity: int) -> dict[str, int]:
        """Name to width of the pre-activations: affine maps of ``i_j = [h_c1; ...; h_cN]`` (and x_j)."""

    def shared_gates(self, arity: int) -> dict[str, int]:
        """The same for gates whose weights on i_j all functions share, even if the cell is typed."""
        return {}

    def products(self, arity: int) -> dict[str, Affine]:
        """The further maps that ``combine`` asks for through ``linear``."""
        return {}

    @abstractmethod
    def combine(self, pre: State, children: Children, linear: Linear) -> Computed:
        """A node's state from its pre-activations and its children's states: plain differentiable torch.

        Args:
            pre: name to (rows, width), as ``gates`` names them.
            children: part name to one tensor a child, (rows, *shape). Ranking passes (equations, fillers, ...) with
                leading sizes that broadcast, so index from the right.
            linear: the maps that ``products`` names.

        Returns the state. Whatever else is in the result (gates, actions) can be asked for by name from
        ``propagate(..., trace=...)`` and costs nothing otherwise.
        """

    def fused(self) -> Fused | None:
        """The kernel that computes, for these options, what ``combine`` does; None: there is none.

        It holds for subclasses too, as long as they leave the mathematics as they are.
        """
        return None

    def reachable(self, state: State, steps: int) -> State:
        """The part of a state that a readout ``steps`` cells further up can depend on; all of it unless overridden."""
        return state

    drops_inputs: ClassVar[bool] = False
    """Whether the dropout also acts on i_j before the gates read it."""
    any_arity: ClassVar[bool] = False
    """Whether a node may have any number of children, because no weight belongs to an arity."""
