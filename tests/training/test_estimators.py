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
from dgltree import Tree, TreeClassifier, TreeDataset, TreeEncoderTransformer, TreeRegressor

pytest.importorskip("lightning", reason="the train extra is not installed")

from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from dgltree.datasets.objects import read_objects
from dgltree.datasets.settings import Reading
from dgltree.read.graphs import from_graph

pytestmark = QUIET
SMALL: dict[str, Any] = {"hidden_size": 8, "epochs": 2, "lr": 0.01}
SHORT = "TreeClassifier(epochs=2, hidden_size=8, lr=0.01)"
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
    assert classifier.model_.classes == ("neg", "pos"), "explain and the card name classes as predict does"
    np.testing.assert_allclose(probabilities, classifier.model_.answers_to(texts).numpy())
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


@pytest.mark.slow
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
    assert "epoch 0: accuracy" in capsys.readouterr().err


@pytest.mark.parametrize("estimator", [TreeClassifier(), TreeRegressor(), TreeEncoderTransformer()])
@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ],
    ids=lambda check: check.__name__,
)
def test_the_checks_of_scikit_learn_that_need_no_matrix_hold(estimator: Any, check: Any) -> None:
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize(
    ("estimator", "call"),
    [
        (TreeClassifier(), "predict"),
        (TreeClassifier(), "predict_proba"),
        (TreeRegressor(), "predict"),
        (TreeEncoderTransformer(), "transform"),
        (TreeEncoderTransformer(), "get_feature_names_out"),
        (TreeClassifier(), "encode"),
    ],
)
def test_what_is_not_fitted_says_so(estimator: Any, call: str) -> None:
    with pytest.raises(NotFittedError, match=f"This {type(estimator).__name__} instance is not fitted yet"):
        getattr(estimator, call)([TREE])


@pytest.mark.parametrize(
    ("estimator", "labels", "message"),
    [
        (TreeClassifier(), np.ones((3, 2)), r"y has the shape \(3, 2\); give one label"),
        (TreeClassifier(), [["a"], ["b", "c"], []], "some labels are lists"),
        (TreeClassifier(), csr_matrix(np.eye(3)), "the labels are a sparse matrix"),
        (TreeClassifier(), ["a", None, "b"], "Input y contains NaN: the label of tree 2 is None; every tree"),
        (TreeClassifier(), pd.Series(["a", "b", None]), "Input y contains NaN: the label of tree 3 is nan"),
        (TreeClassifier(), ["a", "a", "a"], "all 3 trees have the class .*'a'.*; give at least two classes"),
        (TreeClassifier(), ["a", "b"], "3 trees and 2 labels; give one per example"),
        (TreeClassifier(), None, "fit requires y to be passed, but the target y is None"),
        (TreeRegressor(), [0.5, float("nan"), 1], "Input y contains NaN: the label of tree 2 is nan"),
        (TreeRegressor(), [0.5, float("inf"), 1], "Input y contains infinity: the label of tree 2 is inf"),
        (TreeRegressor(), [0.5, "many", 1], "the label of tree 2 is 'many'; a number is needed"),
    ],
)
def test_labels_that_cannot_be_learnt_are_named(estimator: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimator.fit([TREE] * 3, labels)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"3 examples and weights of shape \(1,\)"),
        (
            [1.0, -1.0, 1.0],
            "the weight of example 2 is -1; weights must be finite numbers, 0 or more, at least one above 0",
        ),
        ([0.0, 0.0, 0.0], "all weights are 0"),
    ],
)
def test_weights_that_are_none_are_named(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TreeClassifier().fit([TREE] * 3, ["a", "b", "a"], sample_weight=weights)


@pytest.mark.parametrize("how", ["sample", "class", "both"])
def test_examples_of_weight_0_are_not_learnt_from(how: str) -> None:
    trees = [f"(f {x} {i})" for i, x in enumerate("pqr" * 20)]
    labels = ["a", "b", "c"] * 20
    none = {"dropout": 0.0, "input_dropout": 0.0, "token_dropout": 0.0}
    given: dict[str, Any] = {**SMALL, "epochs": 12, "lr": 0.05, "options": none}
    of_classes = {"class": {"a": 2.0, "b": 2.0, "c": 0.0}, "both": {"a": 1.0, "b": 1.0, "c": 3.0}}.get(how)
    of_samples = None if how == "class" else [0.0 if name == "c" else 2.0 for name in labels]
    model = TreeClassifier(class_weight=of_classes, **given).fit(trees, labels, sample_weight=of_samples)
    assert model.predict(["(f p 1)", "(f q 1)"]).tolist() == ["a", "b"]
    assert model.predict(["(f r 1)"]).tolist() != ["c"]


def test_trees_and_labels_are_read_from_whatever_holds_them_one_by_one() -> None:
    texts, labels = rows(40)
    few = {**SMALL, "epochs": 1, "baseline": False}
    wanted = TreeClassifier(**few).fit(texts, labels).predict_proba(texts)
    for trees, names in (
        ((text for text in texts), iter(labels)),
        (pd.DataFrame({"anything": texts}), pd.Series(labels, dtype="string")),
        (np.array(texts, object), np.array(labels)),
    ):
        np.testing.assert_array_equal(TreeClassifier(**few).fit(trees, names).predict_proba(texts), wanted)


@pytest.mark.parametrize("labels", [None, "class", "value"])
def test_vectors_of_trees_are_a_step_of_a_pipeline(labels: str | None) -> None:
    texts, names = rows(60, labels or "class")
    given = None if labels is None else [float(name) if labels == "value" else name for name in names]
    transformer = TreeEncoderTransformer(**{**SMALL, "epochs": 1, "baseline": False})
    vectors = transformer.fit_transform(texts, given)
    assert vectors.shape == (60, 8)
    assert len(transformer.get_feature_names_out()) == 8
    assert transformer.model_summary_.startswith("vectors of an untrained network") == (labels is None)
    np.testing.assert_array_equal(clone(transformer).fit(texts, given).transform(texts), vectors)
    classes = rows(60)[1]
    pipeline = Pipeline([("vectors", clone(transformer)), ("classes", LogisticRegression())])
    assert pipeline.fit(texts, classes).predict(["x*(y+z)", "sin(x)"]).shape == (2,)


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
    made.edata["slot"] = made.edata["slot"].max() - made.edata["slot"]  # not in the order of the edges
    turned = from_graph(made)
    assert turned is not None and list(turned.children) == list(reversed(found.children))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("(add x)", "found a single tree; give a list of trees or of strings"),
        (3, "examples are 3 of type int; expected a list of trees"),
        (
            [3],
            "tree 1: found 3 of type int; expected a Tree, a string, a dict, an ast node, an NLTK tree, a networkx",
        ),
        ([TREE, float("nan")], "tree 2: found nan of type float"),
        ([(TREE, TREE, TREE)], "tree 1: found 3 trees; expected one tree or a pair of trees per example"),
        ([{"name": "x"}], r"tree 1: \$: no 'label'"),
        ([networkx.Graph([(0, 1)])], "tree 1: the graph is undirected"),
        ([Data(edge_index=EDGES, num_nodes=4)], "tree 1: its nodes have no names; expected one of function, name"),
        (
            [Data(edge_index=EDGES, num_nodes=4, label=[1, 0, 1, 1])],
            "no names but 'label', which is the label to predict",
        ),
        ([Data(edge_index=EDGES, num_nodes=4, y=[1, 0, 1, 1])], "no names but 'y', which is the label to predict"),
        ([Data(edge_index=EDGES.T, num_nodes=4, **NAMES)], r"edge_index is \(3, 2\); expected two rows"),
        ([Data(edge_index=None, num_nodes=4, **NAMES)], "4 nodes and 0 edges are not a tree"),
        ([Data(edge_index=None, num_nodes=None)], "no names"),
        ([Data(edge_index=EDGES, num_nodes=5, x=torch.zeros(5).long())], "5 nodes and 3 edges are not a tree"),
        ([Data(edge_index=EDGES, num_nodes=4, x=torch.rand(4, 3))], "x has vectors that are not names"),
        (
            pd.DataFrame({"text": ["x"]}),
            "the table has no column 'tree', and no columns 'left' and 'right'; its columns are text",
        ),
    ],
)
def test_what_is_no_tree_is_told_in_a_sentence(given: Any, message: str, classifier: TreeClassifier) -> None:
    with pytest.raises(ValueError, match=message):
        classifier.model_.answers_to(given)


def test_columns_of_pandas_are_read_by_a_model(classifier: TreeClassifier) -> None:
    texts, _ = rows(10)
    table = pd.DataFrame({"tree": texts})
    wanted = classifier.model_.answers_to(texts)
    assert torch.equal(classifier.model_.answers_to(table), wanted)
    assert torch.equal(classifier.model_.answers_to(table["tree"]), wanted)


def test_a_model_says_what_it_is(classifier: TreeClassifier) -> None:
    said = repr(classifier.model_)
    average = classifier.model_.average
    assert average is not None
    network, baseline = f"{average.weight:.0%} TreeLSTM of 8", f"{1 - average.weight:.0%} {average.baseline.what}"
    assert said == f"<TrainedModel: 2 classes of trees, {network}, {baseline}>"
    assert classifier.model_summary_ == said.removeprefix("<TrainedModel: ").removesuffix(">")
    assert repr(classifier) == f"{SHORT}  # {classifier.model_summary_}"
    assert repr(clone(classifier)) == SHORT
    assert repr(TreeDataset([TREE])) == "<TreeDataset: 1 trees, 4 nodes>"


@pytest.mark.parametrize("kind", [TreeClassifier, TreeRegressor, TreeEncoderTransformer])
def test_no_trees_are_refused(kind: type) -> None:
    with pytest.raises(ValueError, match="no trees: give at least one"):
        kind().fit([], [])


def test_one_class_is_named_as_it_was_given() -> None:
    for label in ("x", 3):
        with pytest.raises(ValueError, match=f"all 2 trees have the class {label!r}; give at least two classes"):
            TreeClassifier().fit(["(a b)", "(a c)"], [label, label])
