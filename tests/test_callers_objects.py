"""Objects that a caller hands over are the same afterwards, to the last attribute: public calls, drawn arguments."""

import random
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from own_trees import QUIET

import dgltree
from dgltree import Tree, TreeDataset, Vocabulary
from dgltree.cells import TreeLSTM
from dgltree.read.graphs import from_any_networkx, from_networkx, to_networkx
from dgltree.read.infix import read_infix

pandas = pytest.importorskip("pandas")
pytest.importorskip("lightning", reason="the train extra is not installed")
pytestmark = QUIET

TEXTS = [f"{a} {o} {b}" for a in "xyz" for b in "xyz" for o in "+*-"]
SMALL = {"hidden_size": 4, "epochs": 1}


def plain(value: Any) -> Any:
    """A value as something that can be compared, with all its parts; it shares no code with the library."""
    match value:
        case torch.Tensor():
            return "tensor", str(value.dtype), value.requires_grad, value.detach().clone().tolist()
        case np.ndarray():
            return "array", str(value.dtype), value.tolist()
        case pandas.DataFrame() | pandas.Series():
            frame = pandas.DataFrame(value)
            return (
                "frame",
                list(frame.columns),
                [str(kind) for kind in frame.dtypes],
                frame.index.tolist(),
                plain(frame.to_numpy().tolist()),
            )
        case networkx.Graph():
            edges = [(a, b, dict(data)) for a, b, data in value.edges(data=True)]
            return "graph", [(node, dict(data)) for node, data in value.nodes(data=True)], edges, dict(value.graph)
        case torch.nn.Module():
            return "module", value.training, plain(value.state_dict()), sorted(vars(value))
        case Mapping():
            return "mapping", [(key, plain(item)) for key, item in value.items()]
        case list() | tuple() | set():
            return type(value).__name__, [plain(item) for item in value]
        case Tree():
            return "tree", repr(value)
        case dgltree.TreeBatch():
            return "batch", [(part.name, plain(getattr(value, part.name))) for part in fields(value) if part.compare]
        case Vocabulary():
            return "vocabulary", plain(value.to_json())
    return repr(value)  # by which NaN is equal to itself


def draw(seed: int) -> dict[str, Any]:
    """Arguments of all calls."""
    random_ = random.Random(seed)
    texts = [random_.choice(TEXTS) for _ in range(40)] + TEXTS[:3]
    trees = [read_infix(text) for text in texts]
    labels = ["sum" if "+" in text else "other" for text in texts]
    vocabulary = Vocabulary.from_trees([read_infix(text) for text in TEXTS])
    ages = [random_.randint(1, 90) if random_.random() < 0.9 else None for _ in texts]
    frame = pandas.DataFrame({"tree": texts, "age": ages}, index=[10 * k for k in range(len(texts))])
    named = networkx.DiGraph(name="mine")
    for node in (3, 1, 2):
        named.add_node(node, label=random_.choice("abc"), kind="word", weight=random_.random())
    named.add_edges_from([(3, 1, {"role": "left"}), (3, 2, {"role": "right"})])
    return {
        "texts": texts,
        "trees": trees,
        "labels": labels,
        "numbers": np.array([float(len(text)) + random_.random() for text in texts], dtype=np.float32),
        "weights": np.linspace(1, 2, len(texts)),
        "frame": frame,
        "features": {"age": list(ages)},
        "options": {"leaf": "gates"},
        "vocabulary": vocabulary,
        "graph": named,
        "written": to_networkx(trees[0]),
        "inputs": torch.randn(sum(tree.size for tree in trees), 3, generator=torch.Generator().manual_seed(seed)),
    }


def by_estimator(given: dict[str, Any]) -> None:
    """A classifier of a table with a column, and its answers."""
    model = dgltree.TreeClassifier(
        **SMALL, encoder="tree_lstm", features=["age"], options={"options": given["options"]}
    )
    model.fit(given["frame"], given["labels"], sample_weight=given["weights"])
    model.predict_proba(given["frame"])
    model.predict(given["frame"][:5])


def by_regressor(given: dict[str, Any]) -> None:
    model = dgltree.TreeRegressor(**SMALL).fit(given["trees"], given["numbers"])
    model.predict(given["trees"])
    model.encode(given["trees"])


def by_fit(given: dict[str, Any]) -> None:
    data = TreeDataset(given["trees"], given["labels"], features=given["features"], weights=given["weights"])
    before = [plain(data[k]) for k in range(len(data))]
    model = dgltree.fit(data, **SMALL, class_weights="balanced")
    model.evaluate(data)
    model.explain(data.select([0, 1]))
    assert [plain(data[k]) for k in range(len(data))] == before


def by_passes(given: dict[str, Any]) -> None:
    x = given["inputs"]
    flat = dgltree.batch(given["trees"], given["vocabulary"], x=x)
    cell = TreeLSTM(given["vocabulary"], 4, input_size=3, leaf="gates")
    handed, before = (flat, cell, x), plain([flat, cell, x])
    planned = dgltree.plan(flat, cell, share=False)
    dgltree.propagate(planned, cell)
    dgltree.propagate(flat, cell, trace=["u"])
    assert plain(list(handed)) == before
    dgltree.unbatch(flat)
    flat[[1, 0]]
    assert plain(list(handed)) == before


def by_frontiers(given: dict[str, Any]) -> None:
    flat = dgltree.batch(given["trees"], given["vocabulary"])
    graph = flat.graph
    graph.ndata["h"] = torch.zeros(graph.num_nodes(), 2)
    kept, before = dict(graph.ndata), plain(dict(graph.ndata))
    dgltree.TreeBatch.from_graph(graph, given["vocabulary"])
    assert plain(dict(graph.ndata)) == before
    assert all(kept[name] is graph.ndata[name] or torch.equal(kept[name], graph.ndata[name]) for name in kept)


def by_ranker(given: dict[str, Any]) -> None:
    fillers = [read_infix(text) for text in ("1", "cos(x)^2", "x")]
    equations = [dgltree.read_equation("sin(x)^2 + _ = 1")]
    handed, before = (fillers, equations), plain([fillers, equations])
    dgltree.Ranker(dgltree.open_model(), fillers).rank(equations, top=2)
    assert plain(list(handed)) == before


def by_graphs(given: dict[str, Any]) -> None:
    from_networkx(given["written"])
    from_any_networkx(given["graph"])
    graphs = [to_networkx(tree) for tree in given["trees"]]
    before = plain(graphs)
    dgltree.TreeClassifier(**SMALL).fit(graphs, given["labels"]).predict(graphs)
    assert plain(graphs) == before
    TreeDataset([from_any_networkx(given["graph"])], ["a"])


def by_equations(given: dict[str, Any]) -> None:
    answers = ["cos(x)^2", "1"]
    dgltree.check("sin(x)^2 + _ = 1", answers[0])
    dgltree.verify(dgltree.read_equation("x + x = 2*x"))
    assert answers == ["cos(x)^2", "1"]


CALLS: dict[str, Callable[[dict[str, Any]], None]] = {
    "estimator": by_estimator,
    "regressor": by_regressor,
    "fit": by_fit,
    "passes": by_passes,
    "frontiers": by_frontiers,
    "ranker": by_ranker,
    "graphs": by_graphs,
    "equations": by_equations,
    "vocabulary": lambda given: Vocabulary.from_trees(given["trees"]).to_json() and None,
    "dataset": lambda given: TreeDataset(given["trees"], given["labels"]).vocabulary() and None,
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", CALLS)
def test_what_a_caller_hands_over_stays_as_it_is(name: str, seed: int) -> None:
    given = draw(seed)
    before = plain(given)
    CALLS[name](given)
    after = plain(given)
    assert [pair for pair in zip(after[1], before[1], strict=True) if pair[0] != pair[1]] == []


def test_a_change_would_be_seen() -> None:
    """Of each kind of argument one change."""
    for change in (
        lambda given: given["graph"].nodes[1].pop("label"),
        lambda given: given["frame"].insert(0, "new", 1),
        lambda given: given["numbers"].__setitem__(0, -1),
        lambda given: given["inputs"].mul_(2),
        lambda given: given["labels"].sort(),
        lambda given: given["options"].update(a=1),
        lambda given: given["features"]["age"].append(1),
    ):
        given = draw(0)
        before = plain(given)
        change(given)
        assert plain(given) != before
