"""A batch whose ids its vocabulary lacks, or whose functions have another arity, is refused by tree and node."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import dgltree
from dgltree.batching.vocabulary import NO_TOKEN
from dgltree.cells import TreeLSTM

TREES = [dgltree.read_infix(text) for text in ("sin(x)^2", "x*y", "sin(x + 3)*y")]
VOCABULARY = dgltree.Vocabulary.from_trees(TREES)
BATCH = dgltree.batch(TREES, VOCABULARY)
CALLS: dict[str, Callable[[Any], Any]] = {
    "plan": lambda batch: dgltree.plan(batch, TreeLSTM(VOCABULARY, 4)),
    "propagate": lambda batch: dgltree.propagate(batch, TreeLSTM(VOCABULARY, 4)),
    "share": lambda batch: dgltree.propagate(batch, TreeLSTM(VOCABULARY, 4), share=True),
    "call": lambda batch: TreeLSTM(VOCABULARY, 4)(batch),
    "untyped": lambda batch: dgltree.propagate(
        batch, TreeLSTM(VOCABULARY, 4, typed=False, input_size=4, leaf="gates", functions=True)
    ),
    "unbatch": dgltree.unbatch,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("seed", range(6))
def test_a_wrong_id_is_named_by_its_tree_and_node(call: str, seed: int) -> None:
    rng = random.Random(seed)
    column = rng.choice(["function", "token"])
    node = rng.randrange(BATCH.num_nodes)
    ids = getattr(BATCH, column).clone()
    if column == "function":
        arity = [len_ for _, len_ in VOCABULARY.functions]
        others = [f for f in range(len(arity)) if arity[f] != int(BATCH.arity[node])]
        ids[node] = rng.choice([99, -1, len(VOCABULARY.functions), *others])
    else:
        ids[node] = rng.choice([len(VOCABULARY.tokens), 77, NO_TOKEN - 1])
    tree = next(k for k, start in reversed(list(enumerate(BATCH.starts.tolist()))) if start <= node)
    place = f"tree {tree + 1}, node {node - int(BATCH.starts[tree]) + 1} "
    with pytest.raises(ValueError, match=f"^{place}"):
        CALLS[call](replace(BATCH, **{column: ids}))
