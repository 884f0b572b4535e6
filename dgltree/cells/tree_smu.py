"""Tree-SMU."""

from typing import Any

from dgltree.batching.vocabulary import Vocabulary
from dgltree.cells.stack_tree_lstm import StackTreeLSTM


class TreeSMU(StackTreeLSTM):
    r"""Tree Stack Memory Unit (Arabshahi et al. 2021, arXiv 1911.01545): the stack-augmented Tree-LSTM, normalized.

    Examples:
        >>> import dgltree
        >>> from dgltree.cells import TreeSMU
        >>> trees = [dgltree.read_infix("sin(x) + 3")]
        >>> vocabulary = dgltree.Vocabulary.from_trees(trees)
        >>> cell = TreeSMU(vocabulary, hidden_size=8, stack_size=5, no_op=True)
        >>> states = dgltree.propagate(dgltree.batch(trees, vocabulary), cell)
        >>> {name: tuple(state.shape) for name, state in states.items()}
        {'h': (4, 8), 'S': (4, 5, 8)}

    .. math::
        [a_{push}; a_{pop}; a_{noop}] = softmax(\sigma(A_f^{push} i + b), \sigma(A_f^{pop} i + b),
            \sigma(A_f^{noop} i + b))

    over the actions, element by element; the rest is as in :class:`StackTreeLSTM`.
    The published weights were trained with ``stack_size=5, top_k=1, no_op=True``.

    Args:
        vocabulary, hidden_size, options: see :class:`StackTreeLSTM`, without ``normalize``.
    """

    fixed = frozenset({"normalize"})

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, normalize=True, **options)
