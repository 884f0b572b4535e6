"""The peer of the cells that evaluate numbers: a network that sees no tree."""

import torch
from torch import Tensor, nn

from dgltree import TreeBatch, Vocabulary
from dgltree.encoders import Encoder


class ArgumentMLP(Encoder):
    """Two hidden layers over the root's function, one-hot, and its argument: of sin(-0.7), sin and -0.7.

    The argument is the sum of the tree's number leaves, negative where there is a product with -1; so all sums of
    digits look the same.

    Args:
        vocabulary: of the trees.
        hidden_size: n, the width of the layers.
        numbers: whether the vocabulary has numbers, without which there is no argument.

    Raises ``ValueError`` without numbers.
    """

    def __init__(self, vocabulary: Vocabulary, hidden_size: int, numbers: bool = False) -> None:
        super().__init__()
        if not numbers:
            raise ValueError("argument_mlp reads the arguments of number equations: give --data.numbers FOLDER")
        self.functions = len(vocabulary.functions)
        self.product = vocabulary.functions.index(("Mul", 2))
        self.layers = nn.Sequential(
            nn.Linear(1 + self.functions, hidden_size), nn.Tanh(), nn.Linear(hidden_size, hidden_size), nn.Tanh()
        )

    def forward(self, batch: TreeBatch, share: bool = False) -> Tensor:
        """(B, n)."""
        weights = next(self.parameters())
        tree = torch.repeat_interleave(batch.sizes)
        leaves = weights.new_zeros(batch.num_nodes) if batch.value is None else batch.value.nan_to_num()
        values, products = (
            weights.new_zeros(len(batch)).index_add(0, tree, nodes.to(weights.dtype))
            for nodes in (leaves, batch.function == self.product)
        )
        function = nn.functional.one_hot(batch.function[batch.roots], self.functions)
        argument = torch.where(products > 0, -values, values)
        return self.layers(torch.cat([argument.unsqueeze(-1), function.to(weights.dtype)], -1))
