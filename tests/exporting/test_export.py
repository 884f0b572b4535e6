"""Exported models: a graph answers as the model does, for trees that the export has not seen, and refusals say why."""

import importlib.util
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("onnxscript", reason="the export extra is not installed")
pytest.importorskip("onnxruntime", reason="the export extra is not installed")

import onnxruntime

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset, Vocabulary
from dgltree.batching.number_scales import NumberScales
from dgltree.cells import CELLS, Cell
from dgltree.commands.main import main
from dgltree.datasets import Reading
from dgltree.datasets.objects import read_objects
from dgltree.encoders import TreeEncoder, make_encoder
from dgltree.exporting import Exported
from dgltree.exporting.export import _reading_of
from dgltree.exporting.pieces import DECOMPOSITIONS
from dgltree.exporting.plan import groups_of
from dgltree.models import (
    ClassifierReadout,
    EquationModel,
    EquationReadout,
    NumberReadout,
    PairModel,
    PairReadout,
    TreeModel,
)
from dgltree.models.label_scales import LabelScale
from dgltree.support.arguments import LabelScaleName
from dgltree.training.objectives.threshold import Threshold

ROOT = Path(__file__).parents[2]
PLANNER = ROOT / "docs" / "howto" / "plan.py"
ALLOWED = 1e-5
FUNCTIONS = {1: ("neg", "sin"), 2: ("add", "mul"), 3: ("if",)}


def draw(rng: random.Random, height: int, numbers: bool = True) -> Tree:
    if not height or rng.random() < 0.2:
        if numbers and rng.random() < 0.5:
            return Tree("number", value=rng.uniform(-100, 100))
        return Tree("word", token=rng.choice("xyz"))
    arity = rng.choice((1, 2, 2, 3))
    return Tree(rng.choice(FUNCTIONS[arity]), [draw(rng, height - 1, numbers) for _ in range(arity)])


def drawn(count: int = 200, seed: int = 0, numbers: bool = True) -> list[Tree]:
    """Trees of many shapes, the first of which are leaves."""
    rng = random.Random(seed)
    return [draw(rng, height % 8, numbers) for height in range(count)]


def encoder_of(name: str, **options: Any) -> TreeEncoder:
    arities = [(function, arity) for arity, names in FUNCTIONS.items() for function in names]
    if CELLS[name].any_arity:
        arities = [(function, None) for function, _ in arities]
    vocabulary = Vocabulary([*arities, ("number", 0), ("word", 0)], "xyz")
    torch.manual_seed(0)
    encoder = make_encoder(name, vocabulary, 8, **options)
    assert isinstance(encoder, TreeEncoder)
    return encoder.eval()


def run(exported: Exported, trees: Any, *outputs: str) -> list[np.ndarray]:
    found: list[np.ndarray] = onnxruntime.InferenceSession(exported.path).run(outputs, exported.inputs(trees))
    return found


@pytest.fixture(scope="module")
def classifier() -> TreeModel:
    """A model with typed gates at leaves, words and numbers, and nodes of one to three children."""
    encoder = encoder_of("tree_lstm", input_size=6, leaf="gates", functions=True, numbers=True, number_scale=(2, 30))
    return TreeModel(encoder, ClassifierReadout(8, 3)).eval()


@pytest.fixture(scope="module")
def exported(classifier: TreeModel, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return dgltree.export(classifier, tmp_path_factory.mktemp("exported") / "graph")


def test_a_graph_gives_answers_and_vectors_for_trees_that_it_has_not_seen(
    classifier: TreeModel, exported: Exported
) -> None:
    trees = drawn()
    answers, vectors = run(exported, trees, "answers", "vectors")
    batch = dgltree.batch(trees, classifier.encoder.vocabulary)
    with torch.no_grad():
        assert np.abs(vectors - classifier.encoder(batch).numpy()).max() < ALLOWED
        assert np.abs(answers - classifier(batch).numpy()).max() < ALLOWED
    assert np.abs(answers[0] - answers[-1]).max() > 100 * ALLOWED


def test_a_graph_takes_trees_that_are_leaves_alone(classifier: TreeModel, exported: Exported) -> None:
    trees = [Tree("word", token="x"), Tree("number", value=3.5)]
    (answers,) = run(exported, trees, "answers")
    with torch.no_grad():
        wanted = classifier(dgltree.batch(trees, classifier.encoder.vocabulary))
    assert np.abs(answers - wanted.numpy()).max() < ALLOWED


def test_a_chain_carries_one_state(exported: Exported) -> None:
    tree = Tree("word", token="x")
    for _ in range(1000):
        tree = Tree("add", (tree, Tree("word", token="y")))
    tables = exported.inputs([tree])
    assert len(tables["runs"]) == 1000
    assert tables["slots"].max() == 0
    assert tables["children"][:4].tolist() == [0, 1, 2, 1]  # x and y, then slot 0 and y


def test_a_slot_is_not_written_before_its_last_reader(exported: Exported) -> None:
    """Each inner row's children are where their states are when its run is computed, or the graph would be wrong."""
    tables = exported.inputs(drawn(60, seed=3))
    leaves = tables["leaf_runs"][-1, 1]
    writer: dict[int, int] = {}
    read_after = dict[tuple[int, int], int]()
    for number, (first, last, _, first_edge, last_edge) in enumerate(tables["runs"].tolist()):
        for place in tables["children"][first_edge:last_edge].tolist():
            if place >= leaves:
                read_after[place, writer[place]] = number
        for slot in tables["slots"][first:last].tolist():
            writer[leaves + slot] = number
    assert len(read_after) > 10
    assert tables["slots"].max() + 1 < len(tables["slots"])
    assert {place for place in tables["roots"].tolist() if place >= leaves} <= writer.keys()


def test_unknown_names_are_refused_as_by_the_model(exported: Exported) -> None:
    with pytest.raises(ValueError, match="unknown function 'div'"):
        exported.inputs([Tree("div", (Tree("word", token="x"), Tree("word", token="x")))])
    with pytest.raises(ValueError, match="unknown token 'w'"):
        exported.inputs([Tree("word", token="w")])


def test_the_file_of_reading_says_what_a_planner_needs(classifier: TreeModel, exported: Exported) -> None:
    reading = json.loads((exported.folder / "reading.json").read_text(encoding="utf-8"))
    assert reading["inputs"] == list(exported.inputs(drawn(3)))
    assert [known["name"] for known in reading["functions"]] == [f for f, _ in classifier.encoder.vocabulary.functions]
    assert reading["tokens"] == ["x", "y", "z"]
    assert reading["left_out"] is None
    inner = {known["group"] for known in reading["functions"] if known["children"]}
    assert inner.isdisjoint(known["group"] for known in reading["functions"] if known["children"] == 0)


def test_operations_that_the_runtime_lacks_are_computed_by_others() -> None:
    v = torch.tensor([-1e200, -3.0, -1e-4, 0.0, 0.5, 2.0, 1e12], dtype=torch.float64)
    asinh, sinh, searchsorted = DECOMPOSITIONS.values()
    torch.testing.assert_close(asinh(v), v.asinh(), rtol=1e-12, atol=1e-15)
    torch.testing.assert_close(sinh(v[1:-1]), v[1:-1].sinh(), rtol=1e-12, atol=1e-15)
    ascending = torch.tensor([-3.0, 0.0, 2.0], dtype=torch.float64)
    for right in (False, True):
        assert (
            searchsorted(ascending, v, right=right).tolist() == torch.searchsorted(ascending, v, right=right).tolist()
        )


class PlainCell(Cell):
    def __init__(self, vocabulary: Vocabulary, hidden_size: int, **options: Any) -> None:
        super().__init__(vocabulary, hidden_size, **options)
        self.build()

    @property
    def state(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.hidden_size,)}

    def gates(self, arity: int) -> dict[str, int]:
        return {"u": self.hidden_size}

    def combine(self, pre: Any, children: Any, linear: Any) -> Any:
        assert len(pre["u"]) == len(children["h"][0])  # a number of rows that is left open
        return {"h": torch.tanh(pre["u"]) / len(children["h"])}


class ReadingCell(PlainCell):
    def combine(self, pre: Any, children: Any, linear: Any) -> Any:
        if float(pre["u"].sum()) > 0:
            return {"h": pre["u"]}
        return {"h": -pre["u"]}


class LeafCell(PlainCell):
    def leaf_states(self, batch: Any, leaves: Any, segments: Any) -> Any:
        return super().leaf_states(batch, leaves, segments)


def hooked() -> TreeEncoder:
    encoder = encoder_of("tree_lstm")
    encoder.cell.maps["gates_2"].register_forward_hook(lambda *_: None)
    return encoder


REFUSED: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "sequence": (
        lambda: make_encoder("lstm", Vocabulary([("f", 2)], "x"), 4),
        "cannot be exported",
    ),
    "pooling": (
        lambda: encoder_of("tree_lstm", pooling="mean"),
        "an exported graph returns the vectors of roots, but this encoder pools the vectors of all nodes",
    ),
    "hooks": (hooked, "gates_2 has hooks or its own forward"),
    "bfloat16": (lambda: encoder_of("tree_lstm").bfloat16(), "its weights are torch.bfloat16"),
    "leaves": (lambda: TreeEncoder(LeafCell(Vocabulary([("f", 2)], "x"), 4)), "override embedded_leaves"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_has_no_graph_is_refused_with_the_reason(kind: str, tmp_path: Path) -> None:
    made, message = REFUSED[kind]
    with pytest.raises(ValueError, match=message):
        dgltree.export(made(), tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


def test_the_folder_of_a_model_is_left_alone(classifier: TreeModel, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(ValueError, match="is the folder of a model"):
        dgltree.export(classifier, tmp_path)


# ---------------------------------------------------------------------------------------------------------------------
# Slow: each exports a model of its own.

KINDS: dict[str, dict[str, Any]] = {
    "child_sum": {"input_size": 6, "leaf": "gates", "functions": True, "numbers": True, "positions": True},
    "tree_smu": {"no_op": True},
    "grc": {"typed": True, "leaf": "network", "numbers": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_cell_is_exported(name: str, tmp_path: Path) -> None:
    encoder = encoder_of(name, **KINDS[name])
    trees = drawn(numbers=encoder.cell.numbers)
    (vectors,) = run(dgltree.export(encoder, tmp_path), trees, "vectors")
    with torch.no_grad():
        wanted = encoder(dgltree.batch(trees, encoder.vocabulary)).numpy()
    assert np.abs(vectors - wanted).max() < ALLOWED


@pytest.mark.slow
def test_a_cell_of_ones_own_is_exported_if_torch_can_trace_it(tmp_path: Path) -> None:
    vocabulary = encoder_of("tree_lstm").vocabulary
    trees = drawn(50, numbers=False)
    encoder = TreeEncoder(PlainCell(vocabulary, 5)).eval()
    (vectors,) = run(dgltree.export(encoder, tmp_path / "plain"), trees, "vectors")
    with torch.no_grad():
        assert np.abs(vectors - encoder(dgltree.batch(trees, vocabulary)).numpy()).max() < ALLOWED
    with pytest.raises(ValueError, match=r"torch cannot trace it at test_export.py:\d+, 'if float\(pre"):
        dgltree.export(TreeEncoder(ReadingCell(vocabulary, 5)), tmp_path / "reading")


@pytest.mark.slow
def test_an_equation_model_is_exported(tmp_path: Path) -> None:
    model = EquationModel(encoder_of("tree_lstm"), EquationReadout()).eval()
    trees = drawn(40, numbers=False)
    (answers,) = run(dgltree.export(model, tmp_path), trees, "answers")
    with torch.no_grad():
        wanted = model(dgltree.batch(trees, model.encoder.vocabulary)).numpy()
    assert answers.shape == (20,)
    assert np.abs(answers - wanted).max() < ALLOWED


def orders(count: int) -> list[str]:
    """Documents with numbers at several places."""
    rng = random.Random(0)
    found = []
    for _ in range(count):
        price = {"label": "price", "token": f"{rng.uniform(1, 500):.2f}"}
        city = {"label": "city", "token": rng.choice(["Bonn", "Köln", "Ulm"])}
        at = {"label": "at", "children": [f"{rng.uniform(-5, 5):.3f}" for _ in range(2)]}
        order = {"label": "order", "children": [price, city, at][: rng.randint(1, 3)]}
        found.append(json.dumps(order, ensure_ascii=False))
    return found


def lists(count: int) -> list[str]:
    """S-expressions whose first function is ``f`` or ``g``."""
    rng = random.Random(0)

    def text(height: int) -> str:
        if not height or rng.random() < 0.2:
            return rng.choice(["a", "b", '"c d"'])
        return f"({rng.choice('fg')} {text(height - 1)} {text(height - 1)})"

    return [f"({rng.choice('fg')} {text(4)} {text(4)})" for _ in range(count)]


def fitted_model(texts: list[str], folder: Path) -> TrainedModel:
    """A model that ``dgltree fit`` trained on S-expressions and the names of their first functions."""
    pytest.importorskip("lightning", reason="the train extra is not installed")
    (folder / "all.tsv").write_text("tree\tlabel\n" + "".join(f"{each}\t{each[1]}\n" for each in texts), "utf-8")
    fit = ["fit", str(folder / "all.tsv"), "--out", str(folder / "model"), "--hidden-size", "8", "--epochs", "12"]
    assert main([*fit, "--no-baseline", "--lr", "0.05"]) == 0
    return TrainedModel.load(folder / "model")


def model_of_numbers(texts: list[str], folder: Path) -> TrainedModel:
    """A model with drawn weights of JSON trees with numbers, each on the scale of its place, and a threshold."""
    reading = Reading(notation="json", numbers=True, dates=True)
    data = TreeDataset(read_objects(texts, reading, lambda tree: tree), reading=reading)
    data = data.with_numbers(True)
    scales = NumberScales.of([data.trees])
    vocabulary = data.vocabulary(any_arity=True, unk=True).with_scales(scales)
    assert scales is not None and len(scales.places) > 3
    options: dict[str, Any] = {"input_size": 5, "leaf": "gates", "numbers": True, "positions": True}
    torch.manual_seed(3)
    network = TreeModel(make_encoder("child_sum", vocabulary, 6, **options), ClassifierReadout(6, 2), ["cheap", "dear"])
    model = TrainedModel(network, reading)
    middle = float(model.predict_proba(texts)[:, 1].median())
    model.predict_from(Threshold(1, middle))
    model.save(folder / "model")
    return model


def pairs(count: int) -> list[str]:
    """Lines of two S-expressions each."""
    texts = lists(2 * count)
    return [f"{first}\t{second}" for first, second in zip(texts[::2], texts[1::2], strict=True)]


def model_of_pairs(texts: list[str], folder: Path) -> TrainedModel:
    """A model with drawn weights, and a threshold, of pairs of S-expressions."""
    reading = Reading(notation="sexpr")
    data = TreeDataset(read_objects(examples(texts), reading, lambda tree: tree), reading=reading)
    torch.manual_seed(1)
    encoder = make_encoder("tree_lstm", data.vocabulary(), 6)
    model = TrainedModel(PairModel(encoder, PairReadout(6, 2), ["no", "yes"]), reading)
    middle = float(model.predict_proba(examples(texts))[:, 1].median())
    model.predict_from(Threshold(1, middle))
    model.save(folder / "model")
    return model


def examples(lines: list[str]) -> list[Any]:
    """What a model reads of the lines of a planner: texts, or pairs of them."""
    return [tuple(line.split("\t")) if "\t" in line else line for line in lines]


MODELS = {"sexpr": (lists, fitted_model), "json": (orders, model_of_numbers), "pairs": (pairs, model_of_pairs)}


@pytest.fixture(scope="module", params=MODELS)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``model``, with ``graph``, as ``dgltree export`` made it, with trees and the answers to these."""
    written, made = MODELS[request.param]
    texts, folder = written(200), tmp_path_factory.mktemp(request.param)
    predicted = made(texts, folder).predict(examples(texts[:100]))
    assert main(["export", str(folder / "model"), str(folder / "graph")]) == 0
    assert len(set(predicted)) == 2
    (folder / "trees.txt").write_text("\n".join(texts[:100]) + "\n", "utf-8")
    (folder / "answers.txt").write_text("\n".join(predicted) + "\n", "utf-8")
    return folder


def planned(command: list[str], folder: Path, **options: Any) -> list[str]:
    """The lines that a planner prints for the trees of a folder."""
    with (folder / "trees.txt").open(encoding="utf-8") as trees:
        done = subprocess.run(command, stdin=trees, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_planner_in_numpy_answers_as_predict_from_an_empty_folder(trained: Path, tmp_path: Path) -> None:
    shutil.copy(PLANNER, tmp_path)
    answers = (trained / "answers.txt").read_text(encoding="utf-8").splitlines()
    command = [sys.executable, "-I", "plan.py", str(trained / "graph")]
    assert planned(command, trained, cwd=tmp_path, env={"PYTHONUTF8": "1"}) == answers


@pytest.mark.slow
def test_the_planner_in_javascript_answers_as_predict(trained: Path, javascript: Path) -> None:
    answers = (trained / "answers.txt").read_text(encoding="utf-8").splitlines()
    assert planned(["node", "plan.mjs", str(trained / "graph")], trained, cwd=javascript) == answers


@pytest.fixture(scope="module")
def javascript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the planner in JavaScript, and the packages that it needs."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("there is no Node.js")
    folder = tmp_path_factory.mktemp("javascript")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(Path(__file__).parent / name, folder)
    shutil.copy(PLANNER.with_suffix(".mjs"), folder)
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    except subprocess.TimeoutExpired:
        pytest.skip("npm takes more than five minutes: it is not reached")
    if done.returncode:
        pytest.skip(f"npm cannot be reached: {done.stderr.strip():.200}")
    return folder


@pytest.mark.slow
def test_a_trained_model_has_a_graph_of_its_answers_and_of_its_classes(trained: Path) -> None:
    model = TrainedModel.load(trained / "model")
    assert isinstance(model.model.encoder, TreeEncoder)
    cell = model.model.encoder.cell
    exported = Exported(trained / "graph", model, cell, groups_of(cell)[1])
    trees = examples((trained / "trees.txt").read_text(encoding="utf-8").splitlines())
    answers, label, vectors = run(exported, trees, "answers", "label", "vectors")
    assert np.abs(answers - model.predict_proba(trees).numpy()).max() < ALLOWED
    assert [model.classes[k] for k in label] == model.predict(trees)
    assert np.abs(vectors - model.encode(trees).numpy()).max() < ALLOWED
    with pytest.raises(ValueError, match="tree 1: "):
        exported.inputs(["(f a"] if model.each == 1 else [("(f a", "a")])


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["asinh", "rank"])
def test_a_model_of_numbers_gives_them_in_their_unit(scale: LabelScaleName, tmp_path: Path) -> None:
    labels = torch.tensor([1.0, 2, 3, 4, 5, 500, 80_000], dtype=torch.float64)
    encoder = encoder_of("tree_rnn")
    readout = NumberReadout(8, LabelScale.of(scale, labels).to_json(), (0.5, 2.0))
    model = TrainedModel(TreeModel(encoder, readout), Reading(notation="sexpr"))
    trees = drawn(40, numbers=False)
    (answers,) = run(dgltree.export(model, tmp_path), trees, "answers")
    wanted = model.predict(trees)
    assert isinstance(wanted, torch.Tensor)
    np.testing.assert_allclose(answers, wanted.numpy(), rtol=1e-5)
    assert np.ptp(answers) > 1


def averaged(network: TreeModel, weight: float) -> TrainedModel:
    """A model whose answers are means with those of a baseline, with a threshold."""
    average = SimpleNamespace(weight=weight, baseline=SimpleNamespace(what="a forest of counts"))
    named = TreeModel(network.encoder, network.readout, ["a", "b", "c"])
    model = TrainedModel(named, Reading(notation="sexpr"), average=cast(Any, average))
    model.predict_from(Threshold(2, 0.3))
    return model


def test_answers_that_no_graph_gives_are_refused(classifier: TreeModel, tmp_path: Path) -> None:
    model = averaged(classifier, 0.75)
    with pytest.raises(ValueError, match="its predictions are 25% a forest of counts; the baseline cannot be exported"):
        dgltree.export(model, tmp_path)
    model = TrainedModel(model.model, model.reading, features=cast(Any, SimpleNamespace(names=["age"])))
    with pytest.raises(ValueError, match="the model reads columns next to the trees, age"):
        dgltree.export(model, tmp_path, network_only=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_network_of_an_average_is_exported_alone_and_the_file_says_so(
    classifier: TreeModel, tmp_path: Path
) -> None:
    model = averaged(classifier, 0.75)
    exported = dgltree.export(model, tmp_path, network_only=True)
    trees = drawn(40)
    answers, label = run(exported, trees, "answers", "label")
    alone = TrainedModel(model.model, model.reading)
    assert np.abs(answers - alone.predict_proba(trees).numpy()).max() < ALLOWED
    assert label.tolist() == model.objective.predicted(torch.from_numpy(answers)).tolist()
    assert json.loads((tmp_path / "reading.json").read_text("utf-8"))["left_out"] == "25% a forest of counts"


def planner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_planner", PLANNER)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_planners_have_at_most_120_lines_and_refuse_what_is_wrong(exported: Exported) -> None:
    for file in (PLANNER, PLANNER.with_suffix(".mjs")):
        assert len([line for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]) <= 120
    plan = planner()
    for text in ("(f a", "(f a))", "a b", "", '"a'):
        with pytest.raises(ValueError, match=r"one too many|is not one whole tree"):
            plan.read_sexpr(text)
    model: dict[str, Any] = {
        "functions": {("f", 1): 0, ("atom", 0): 1},
        "groups": [1, 0],
        "tokens": {"a": 0},
        "unknown_token": None,
    }
    model |= {
        "own_positions": [],
        "numbers": False,
        "dates": False,
        "inputs": ["leaf_runs", "runs", "children", "roots"],
    }
    assert plan.plan([plan.read_sexpr("(f (f a))")], model)["children"].tolist() == [0, 1]
    for text, message in (("(g a)", "unknown function 'g' of 1"), ("(f b)", "unknown token 'b'"), ("(f a a)", "of 2")):
        with pytest.raises(ValueError, match=message):
            plan.plan([plan.read_sexpr(text)], model)
    model |= {"dates": True, "unknown_token": 0}
    with pytest.raises(ValueError, match="unknown token '2026-11-29', or a date"):
        plan.plan([plan.read_sexpr("(f 2026-11-29)")], model)
    with pytest.raises(ValueError, match="a node has two parents"):
        plan.plan([[("atom", "a", []), ("f", None, [0]), ("f", None, [1]), ("f", None, [1])]], model)


UNUSUAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the notation treebank": ({"notation": "treebank"}, {}),
    "drop, binarize": ({"notation": "sexpr", "drop": "a", "binarize": "left"}, {}),
    "keys": ({"notation": "json", "keys": "f,children,token"}, {}),
    "token_parts": ({"notation": "sexpr"}, {"parts": True}),
}


@pytest.mark.parametrize("way", UNUSUAL)
def test_a_planner_names_the_ways_of_reading_that_it_lacks(way: str, tmp_path: Path) -> None:
    reading, options = UNUSUAL[way]
    encoder = make_encoder("tree_rnn", Vocabulary([("f", 2), ("a", 0)], "x", **options), 4)
    assert isinstance(encoder, TreeEncoder)
    model = TrainedModel(TreeModel(encoder, ClassifierReadout(4, 2), ["no", "yes"]), Reading(**reading))
    (tmp_path / "reading.json").write_text(json.dumps(_reading_of(model, encoder.cell, [1, 0])), "utf-8")
    with pytest.raises(ValueError, match=f"s-expressions and JSON trees, and lacks {way}$"):
        planner().load(tmp_path)
