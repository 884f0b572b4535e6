"""``torch.einsum`` written out as products of matrices gives what torch gives, at any shape that torch takes."""

import random

import pytest
import torch

from dgltree.engine.compiled.equations import einsum


@pytest.mark.parametrize("seed", range(60))
def test_a_drawn_einsum_is_that_of_torch(seed: int) -> None:
    rng = random.Random(seed)
    size_of = {axis: rng.choice((1, 2, 3)) for axis in "abcd"}
    names = ["".join(rng.sample("abcd", rng.randint(1, 3))) for _ in range(rng.choice((1, 2, 3)))]
    output = "".join(rng.sample(sorted(set("".join(names))), rng.randint(0, len(set("".join(names))))))
    generator = torch.Generator().manual_seed(seed)
    operands = []
    for axes in names:
        shape = [1 if rng.random() < 0.2 else size_of[axis] for axis in axes]  # an axis of 1 is repeated
        operands.append(torch.randn(shape, dtype=torch.float64, generator=generator))
    equation = f"{','.join(names)}->{output}"
    torch.testing.assert_close(einsum(equation, *operands), torch.einsum(equation, *operands), rtol=1e-12, atol=1e-12)
