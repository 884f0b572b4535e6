"""scikit-learn's interface, and trees in Python's own objects."""

import ast
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import networkx
import numpy as np
import pandas as pd
import pytest
import torch
from own_trees import QUIET, table

import dgltree
from dgltree import Tree, TreeClassifier, TreeDataset, TreeRegressor

pytest.importorskip("lightning", reason="the train extra is not installed")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from dgltree.datasets.objects import read_objects
from dgltree.datasets.settings.reading import Reading
from dgltree.read.graphs import from_graph

pytestmark = QUIET
SMALL: dict[str, Any] = {"hidden_size": 8, "epochs": 2, "lr": 0.01}
TREE = dgltree.Tree("add", (dgltree.Tree("x", token="1"), dgltree.Tree("neg", (dgltree.Tree("x", token="2"),))))


def rows(count: int, label: str = "class") -> tuple[list[str], list[str]]:
    found = [line.split("\t")[1:] for line in table(count, label).splitlines()[1:]]
    return [text for text, _ in found], [value for _, value in found]


@pytest.fixture(scope="module")
def classifier() -> TreeClassifier:
    texts, labels = rows(80)
    return TreeClassifier(**SMALL).fit(texts, labels)


def test_a_classifier_answers_with_its_own_classes(classifier: TreeClassifier) -> None:
    texts, labels = rows(80)
    probabilities = classifier.predict_proba(texts)
    assert list(classifier.classes_) == ["neg", "pos"]
    np.testing.assert_allclose(probabilities, classifier.model_.predict(texts).numpy())
    np.testing.assert_array_equal(classifier.predict(texts), classifier.classes_[probabilities.argmax(1)])
    right = [one == other for one, other in zip(classifier.predict(texts), labels, strict=True)]
    assert classifier.score(texts, labels) == pytest.approx(np.mean(right))
    assert classifier.encode(texts[:3]).shape == (3, 8)


def test_classes_that_are_numbers_come_back_as_numbers() -> None:
    texts, labels = rows(60)
    found = TreeClassifier(**SMALL).fit(texts, [10 if label == "pos" else 9 for label in labels])
    assert found.classes_.tolist() == [9, 10]
    assert set(found.predict(texts).tolist()) <= {9, 10}


def test_a_regressor_gives_numbers() -> None:
    texts, labels = rows(60, "value")
    found = TreeRegressor(**SMALL).fit(pd.Series(texts), pd.Series(labels, dtype=float))
    assert found.predict(texts).shape == (60,)
    assert found.score(texts, np.array(labels, float)) <= 1


def test_it_is_cloned_searched_and_kept_by_joblib(classifier: TreeClassifier, tmp_path: Path) -> None:
    texts, labels = rows(60)
    copied = clone(classifier)
    assert copied.get_params() == classifier.get_params()
    assert not hasattr(copied, "model_")
    steps = [("same", FunctionTransformer()), ("model", TreeClassifier(**SMALL, baseline=False))]
    search = GridSearchCV(Pipeline(steps), {"model__epochs": [1]}, cv=2, n_jobs=2, error_score="raise")
    search.fit(texts, labels)
    assert search.best_params_ == {"model__epochs": 1}
    joblib.dump(classifier, tmp_path / "model.joblib")
    again = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(again.predict_proba(texts), classifier.predict_proba(texts))


def test_it_prints_nothing_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    texts, labels = rows(40)
    TreeClassifier(**{**SMALL, "epochs": 1}, baseline=False).fit(texts, labels)
    assert capsys.readouterr() == ("", "")
    TreeClassifier(**{**SMALL, "epochs": 1}, baseline=False, verbose=True).fit(texts, labels)
    assert "epoch 0: accuracy" in capsys.readouterr().out


def graph() -> networkx.DiGraph:
    found = networkx.DiGraph()
    for name, label, token in (("r", "add", None), ("a", "x", "1"), ("n", "neg", None), ("b", "x", "2")):
        found.add_node(name, label=label, **({"token": token} if token else {}))
    found.add_edges_from([("r", "a"), ("r", "n"), ("n", "b")])
    return found


class Data(SimpleNamespace):
    """What is read of a PyG ``Data``."""

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


LEAVES = [{"label": "x", "token": "1"}, {"label": "neg", "children": [{"label": "x", "token": "2"}]}]
DICT = {"label": "add", "children": LEAVES}
NAMES = {"function": ["add", "x", "neg", "x"], "token": ["-1", "1", "-1", "2"]}
EDGES = torch.tensor([[0, 0, 2], [1, 2, 3]])


@pytest.mark.parametrize(
    "given",
    [
        TREE,
        json.dumps(DICT),
        DICT,
        networkx.node_link_data(graph(), edges="edges"),
        graph(),
        Data(edge_index=EDGES, num_nodes=4, **NAMES),
        Data(edge_index=EDGES.flip(0), num_nodes=4, **NAMES),
    ],
    ids=["tree", "text", "dict", "node-link", "networkx", "pyg", "pyg, edges to parents"],
)
def test_objects_of_every_kind_are_the_same_tree(given: Any) -> None:
    [found] = read_objects([given], Reading(notation="json"))
    assert found == TREE
    assert read_objects([(given, TREE)], Reading(notation="json")) == [(TREE, TREE)]


def test_a_graph_of_one_node_needs_no_edges() -> None:
    assert from_graph(Data(edge_index=None, num_nodes=1, name=["x"])) == Tree("x")


def test_labels_of_a_graph_are_never_its_names() -> None:
    graph = Data(edge_index=EDGES, num_nodes=4, label=[7, 8, 9, 8], feat=torch.eye(4))
    found = from_graph(graph)
    assert found is not None
    assert [node.function for node in found.preorder()] == ["0", "1", "2", "3"]


def test_nodes_of_ast_are_trees_as_source_is() -> None:
    source = "def f(x):\n    return x + 1\n"
    [found] = read_objects([ast.parse(source)], Reading())
    assert found == dgltree.read.python.read_python(source)
    [function] = read_objects([ast.parse(source).body[0]], Reading())
    assert function.function == "FunctionDef"


def test_a_dgl_graph_is_a_tree_named_by_its_numbers() -> None:
    pytest.importorskip("dgl")
    made = dgltree.batch([TREE], dgltree.Vocabulary.from_trees([TREE])).graph
    found = from_graph(made)
    assert found is not None
    names = [node.function for node in found.preorder()]
    assert len(found.children) == 2
    assert (names[1] == names[3], len(set(names))) == (True, 3)
    assert [node.token for node in found.preorder() if node.token] == ["0", "1"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("(add x)", "one tree alone: give a list"),
        (3, "examples are 3 of type int; expected a list of trees"),
        ([3], "tree 1: found 3 of type int; expected a Tree, a text, a dict"),
        ([TREE, float("nan")], "tree 2: found nan of type float"),
        ([(TREE, TREE, TREE)], "tree 1: found 3 trees; an example is one tree or a pair"),
        ([{"name": "x"}], r"tree 1: \$: no 'label'"),
        ([networkx.Graph([(0, 1)])], "tree 1: the graph is undirected"),
        ([Data(edge_index=EDGES, num_nodes=4)], "tree 1: its nodes have no names; expected one of function, name"),
        (
            [Data(edge_index=EDGES, num_nodes=4, label=[1, 0, 1, 1])],
            "no names but 'label', which is what is to be pred",
        ),
        ([Data(edge_index=EDGES, num_nodes=4, y=[1, 0, 1, 1])], "no names but 'y', which is what is to be predicted"),
        ([Data(edge_index=EDGES.T, num_nodes=4, **NAMES)], r"edge_index is \(3, 2\); expected two rows"),
        ([Data(edge_index=None, num_nodes=4, **NAMES)], "4 nodes and 0 edges are not a tree"),
        ([Data(edge_index=None, num_nodes=None)], "no names"),
        ([Data(edge_index=EDGES, num_nodes=5, x=torch.zeros(5).long())], "5 nodes and 3 edges are not a tree"),
        ([Data(edge_index=EDGES, num_nodes=4, x=torch.rand(4, 3))], "x has vectors that are not names"),
        (pd.DataFrame({"text": ["x"]}), "the table has no column 'tree', and no 'left' and 'right'; it has text"),
    ],
)
def test_what_is_no_tree_is_told_in_a_sentence(given: Any, message: str, classifier: TreeClassifier) -> None:
    with pytest.raises(ValueError, match=message):
        classifier.model_.predict(given)


def test_columns_of_pandas_are_read_by_a_model(classifier: TreeClassifier) -> None:
    texts, _ = rows(10)
    table = pd.DataFrame({"tree": texts})
    wanted = classifier.model_.predict(texts)
    assert torch.equal(classifier.model_.predict(table), wanted)
    assert torch.equal(classifier.model_.predict(table["tree"]), wanted)


def test_a_model_says_what_it_is(classifier: TreeClassifier) -> None:
    said = repr(classifier.model_)
    assert said.startswith("<TrainedModel: 2 classes of trees, TreeLSTM of 8, ")
    assert said.endswith(")>")
    assert repr(TreeDataset([TREE])) == "<TreeDataset: 1 trees, 4 nodes>"
