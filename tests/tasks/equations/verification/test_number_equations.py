"""Number equations: which side is decoded, the sets, the loss over both kinds, and runs of the program."""

import json
import math
import re
from pathlib import Path

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

pytest.importorskip("lightning", reason="the train extra is not installed")

from pyarrow import parquet
from runs import NUMBERS, assert_resumes_to_the_same_weights, run

from dgltree import Tree, batch, load
from dgltree.read.infix import read_equation, read_infix
from dgltree.trees.equation import Equation
from tasks.equations import store
from tasks.equations.generator.generate import write_sets
from tasks.equations.generator.presets import PAPER_TRAIN, part_of
from tasks.equations.store import EquationRow, row_of
from tasks.equations.verification import number_sets
from tasks.equations.verification.classifier import EquationClassifier
from tasks.equations.verification.number_classifier import EquationAndNumberClassifier
from tasks.equations.verification.number_data import Decoded, EquationsAndNumbers, Mixed
from tasks.equations.verification.number_figures import close, figures
from tasks.equations.verification.numbers import bare_number, decoded, number
from tasks.equations.vocabulary import vocabulary

LEAF = Tree("Number", value=0.644)
SINE = Tree("sin", (number(0.7),))
MINUS = read_infix("-1")


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set of either kind: ``train.parquet``, and ``numbers/train.parquet`` and ``numbers/test.parquet``."""
    folder = tmp_path_factory.mktemp("sets")
    write_sets("tiny", {"train": PAPER_TRAIN.scaled(100)}, folder, seed=5)
    (folder / "numbers").mkdir()
    for part, made in number_sets.rows(seed=5).items():
        store.write(folder / "numbers" / f"{part}.parquet", store.number_table(made[:60]))
    return folder


@pytest.mark.parametrize(
    ("tree", "value"),
    [
        (LEAF, 0.644),
        (Tree("Mul", (MINUS, LEAF)), -0.644),
        (Tree("Mul", (read_infix("2"), LEAF)), None),
        (Tree("Add", (MINUS, LEAF)), None),
        (Tree("Mul", (MINUS, SINE)), None),
        (Tree("Mul", (MINUS, LEAF, LEAF)), None),
        (read_infix("1"), None),
        (MINUS, None),
        (SINE, None),
    ],
    ids=str,
)
def test_a_bare_number_is_a_leaf_or_minus_one_times_a_leaf(tree: Tree, value: float | None) -> None:
    assert bare_number(tree) == value


def test_numbers_are_positive_leaves_and_negative_products() -> None:
    assert number(0.5) == Tree("Number", value=0.5)
    assert number(-0.5) == Tree("Mul", (MINUS, Tree("Number", value=0.5)))
    assert [bare_number(number(v)) for v in (0.5, -0.5, 0.0)] == [0.5, -0.5, 0.0]


def test_the_side_that_is_no_bare_number_is_decoded() -> None:
    assert decoded(Equation(SINE, LEAF)) == (SINE, 0.644)
    assert decoded(Equation(LEAF, SINE)) == (SINE, 0.644)
    assert decoded(Equation(number(-0.7), SINE)) == (SINE, -0.7)
    assert decoded(Equation(LEAF, number(0.7))) == (LEAF, 0.7), "where both are bare, the left"
    with pytest.raises(ValueError, match=r"no side of Equation\(.*\) is a number or -1 times a number"):
        decoded(Equation(SINE, read_infix("x")))


def value_of(tree: Tree) -> float:
    """By Python's own arithmetic."""

    def compute(node: Tree, children: list[float]) -> float:
        match node.function:
            case "Add":
                return sum(children)
            case "Mul":
                return math.prod(children)
            case "Pow":
                return children[0] ** children[1]
            case "sin" | "cos" | "tan":
                return getattr(math, node.function)(*children)
            case "csc" | "sec" | "cot":
                return 1 / getattr(math, {"csc": "sin", "sec": "cos", "cot": "tan"}[node.function])(*children)
        return float(node.token) if node.value is None else node.value

    return tree.fold(compute)


def test_all_number_equations_are_true_and_for_training_or_for_tests_whatever_the_seed() -> None:
    parts, others = number_sets.rows(seed=1), number_sets.rows(seed=2)
    rows = [row for made in parts.values() for row in made]
    assert len({row.digest for row in rows}) == len(rows) > 3500
    for row in rows:
        left, right = map(value_of, row.equation)
        assert left == pytest.approx(right, rel=1e-3, abs=1e-6)
        assert abs(decoded(row.equation)[1]) <= 10
    for part in ("train", "test"):
        assert {row.digest for row in parts[part]} == {row.digest for row in others[part]}
        assert parts[part] != others[part]
    functions = {node.function for row in rows for side in row.equation for node in side.preorder() if node.children}
    assert functions == {"sin", "cos", "tan", "csc", "sec", "cot", "Add", "Mul", "Pow"}
    assert {row.split for row in parts["train"]} == {"train", "validation"}
    assert {row.split for row in parts["test"]} == {"test"}


def test_a_quarter_is_for_tests_and_every_tenth_of_the_rest_for_validation() -> None:
    parts = number_sets.rows(seed=4)
    for part, found in parts.items():
        assert {part_of(row.digest, 1) for row in found} == {part}
    share = len(parts["test"]) / sum(map(len, parts.values()))
    assert 0.22 < share < 0.28
    splits = [row.split for row in parts["train"]]
    assert splits == ["validation" if k % 10 == 0 else "train" for k in range(len(splits))]
    assert {row.split for row in parts["test"]} == {"test"}


def test_the_command_writes_both_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    number_sets.main(["--out", str(tmp_path / "numbers"), "--seed", "3"])
    assert re.search(r"train: {'\w+': \d+, '\w+': \d+} -> .*train.parquet\ntest: ", capsys.readouterr().out)
    for part, made in number_sets.rows(seed=3).items():
        assert store.read(tmp_path / "numbers" / f"{part}.parquet") == made


def test_values_are_stored_with_sets_that_have_numbers_only(tmp_path: Path) -> None:
    equations = [Equation(Tree("Mul", (SINE, number(-0.25))), LEAF), read_equation("var_0 + 1 = var_0")]
    rows = [row_of(equation, 1, "train", i) for i, equation in enumerate(equations)]
    store.write(tmp_path / "a.parquet", store.number_table(rows))
    assert store.read(tmp_path / "a.parquet") == rows
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.column("left_values").to_pylist() == [[0.7, 0.25], []]
    assert table.column("equation").to_pylist() == ["sin(0.7)*-(0.25) = 0.644", "var_0 + 1 = var_0"]
    store.write(tmp_path / "b.parquet", store.table([], "train"))
    table = parquet.read_table(tmp_path / "b.parquet")
    assert "left_values" not in table.column_names
    assert b"Number" not in table.schema.metadata[store.KEY], "programs without numbers read the other sets"


def test_number_equations_that_are_wrong_are_dropped(sets: Path, tmp_path: Path) -> None:
    rows = [
        row_of(Equation(SINE, LEAF), 1, "train", 0),
        row_of(Equation(SINE, number(0.5)), 0, "train", 1),
        row_of(Equation(number(-0.644), Tree("sin", (number(-0.7),))), 1, "train", 2),
    ]
    for part in ("train", "test"):
        store.write(tmp_path / f"{part}.parquet", store.number_table(rows))
    data = EquationsAndNumbers(numbers=tmp_path, train=sets / "train.parquet")
    found = [row for row in data.train_rows if isinstance(row, Decoded)]
    assert found == [Decoded(SINE, 0.644, "train"), Decoded(Tree("sin", (number(-0.7),)), -0.644, "train")]


def mixed(sets: Path) -> tuple[EquationAndNumberClassifier, Mixed]:
    data = EquationsAndNumbers(numbers=sets / "numbers", train=sets / "train.parquet")
    equations = [row for row in data.train_rows if isinstance(row, EquationRow)][:3]
    numbers = [row for row in data.train_rows if isinstance(row, Decoded)][:5]
    torch.manual_seed(0)
    module = EquationAndNumberClassifier(data.vocabulary, encoder="tree_lstm", hidden_size=6)
    return module, data.collate([*numbers, *equations])


@torch.no_grad()
def test_the_loss_is_the_mean_over_the_equations_of_both_kinds(sets: Path) -> None:
    module, both = mixed(sets)
    equations, numbers = both
    entropy = binary_cross_entropy_with_logits(module(equations.trees), equations.labels)
    states = module.model.encoder(numbers.inputs)
    squares = [float((module.number_readout(h) - v) ** 2) for h, v in zip(states, numbers.values, strict=True)]
    mean = float(module.losses(both).mean())
    assert mean == pytest.approx((3 * float(entropy) + sum(squares)) / 8)
    one_kind = [module.losses(Mixed(both.equations, None)), module.losses(Mixed(None, both.numbers))]
    assert torch.allclose(torch.cat(one_kind), module.losses(both))


def test_both_readouts_and_the_number_encoder_learn(sets: Path) -> None:
    module, both = mixed(sets)
    module.losses(both).mean().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())
    for part in (module.number_readout, module.model.readout, module.model.encoder.cell.embedding.number):
        assert all(parameter.grad.abs().max() > 0 for parameter in part.parameters())


def test_without_numbers_the_model_is_the_classifier() -> None:
    plain, extended = EquationClassifier(vocabulary()), EquationAndNumberClassifier(vocabulary())
    assert plain.state_dict().keys() == extended.state_dict().keys()


def test_a_number_is_correct_within_a_thousandth_of_it() -> None:
    found, right = torch.tensor([1.0009, 1.0011, -0.5, 10.009, 0.0, 0.0005]), torch.tensor([1, 1, -0.5001, 10, 0, 0.0])
    assert close(found, right).tolist() == [True, False, True, True, True, False]


def test_the_readout_of_a_batch_knows_number_leaves(sets: Path) -> None:
    module, _ = mixed(sets)
    values = [module.decode(batch([Tree("sin", (number(x),))], module.model.encoder.cell.vocabulary)) for x in (0.1, 3)]
    assert values[0].shape == (1,)
    assert values[0] != values[1]


def test_the_program_reports_numbers_beside_the_rest(
    sets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"config": NUMBERS, "data__numbers": sets / "numbers", "data__test": sets / "train.parquet"}
    run(sets, tmp_path, **options)
    out = capsys.readouterr().out
    assert re.search(r"epoch 1: accuracy [\d.]+, loss [\d.]+, number_accuracy [\d.]+, number_mse [\d.]+;", out)
    figures = dict(re.findall(r"(\w+) ([\d.]+)", out[out.index("test:") :]))
    assert {"accuracy", "precision", "depth_05_accuracy", "number_accuracy", "number_mse"} <= set(figures)
    run(sets, tmp_path, command="test", ckpt_path=tmp_path / "checkpoints" / "best.ckpt", **options)
    mse = re.search(r"number_mse\D+([\d.]+)", capsys.readouterr().out)
    assert mse is not None
    assert float(mse[1]) == pytest.approx(float(figures["number_mse"]), abs=1e-4)


def test_an_interrupted_run_continues_to_the_same_weights(sets: Path, tmp_path: Path) -> None:
    options = {
        "config": NUMBERS,
        "data__numbers": sets / "numbers",
        "data__test": sets / "train.parquet",
        "model__options": "{dropout: 0.2}",
    }
    assert_resumes_to_the_same_weights(sets, tmp_path, EquationClassifier, **options)


ALONE = {"config": NUMBERS.with_name("converged.yaml"), "data__train": "null", "data__test": "null"}


def test_numbers_are_learnt_alone(sets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(sets, tmp_path, **ALONE, data__numbers=sets / "numbers", trainer__check_val_every_n_epoch=1)
    best = torch.load(tmp_path / "checkpoints" / "best.ckpt", weights_only=True)
    assert any("'monitor': 'number_accuracy'" in name for name in best["callbacks"])
    figures = json.loads((tmp_path / "test.json").read_text())
    assert {"number_accuracy", "number_accuracy_1e-2", "number_error", "number_mse", "number_sin_error"} <= set(figures)
    assert not {"accuracy", "recall"} & set(figures), "there are no labelled equations"
    saved = load(tmp_path / "model.safetensors")
    data = EquationsAndNumbers(numbers=sets / "numbers")
    right = [row.value for row in data.test_rows]
    with torch.no_grad():
        found = saved(batch([row.tree for row in data.test_rows], saved.encoder.cell.vocabulary))
    error = (found - torch.tensor(right)).abs().mean()
    assert figures["number_error"] == pytest.approx(float(error), rel=1e-4), "the test part's, of what is saved"


def test_the_rate_decays_and_an_interrupted_run_continues_to_the_same_weights(sets: Path, tmp_path: Path) -> None:
    options = {**ALONE, "data__numbers": sets / "numbers", "trainer__check_val_every_n_epoch": 1}
    assert_resumes_to_the_same_weights(sets, tmp_path, EquationClassifier, **options)
    last = torch.load(tmp_path / "part" / "checkpoints" / "last.ckpt", weights_only=True)
    assert last["optimizer_states"][0]["param_groups"][0]["lr"] == pytest.approx(0, abs=1e-9)


def test_figures_are_of_all_numbers_by_function_and_by_size() -> None:
    found, right = torch.tensor([1.0, 1.005, -5.1]), torch.tensor([1.0, 1.0, -6.1])
    got = figures(found, right, torch.tensor([2, 2, 0]), ["cos", "tan", "sin"])
    assert got["number_accuracy"] == pytest.approx(1 / 3)
    assert got["number_accuracy_1e-2"] == pytest.approx(2 / 3)
    assert got["number_above_5_error"] == pytest.approx(1)
    assert got["number_sin_error"] == pytest.approx(0.0025, rel=1e-3)
    assert (got["number_sin_accuracy"], got["number_sin_accuracy_1e-2"]) == (0.5, 1)
    assert got["number_cos_mse"] == pytest.approx(1)
    assert not {"number_tan_error", "number_below_0.3_error"} & set(got)


def test_the_peer_sees_the_function_and_its_argument_alone() -> None:
    known = vocabulary(numbers=True)
    torch.manual_seed(0)
    module = EquationAndNumberClassifier(known, encoder="argument_mlp", hidden_size=8)
    sums = [equation.right for equation in list(number_sets.expansions())[:2]]
    trees = [SINE, Tree("sin", (number(-0.7),)), Tree("sin", (number(0.8),)), Tree("cos", (number(0.7),)), *sums]
    found = module.decode(batch(trees, known))
    assert len(set(found[:4].tolist())) == 4
    assert found[4] == found[5]
    assert torch.allclose(module.decode(batch(sums, known)), found[4:]), "a batch without number leaves"
    layers = module.encoder.layers
    argument = layers[0].weight[:, 0] * -0.7 + layers[0].weight[:, 1 + known.functions.index(("sin", 1))]
    expected = module.number_readout(layers[1:](argument + layers[0].bias))
    assert torch.allclose(found[1], expected)
    with pytest.raises(ValueError, match=r"give --data\.numbers FOLDER"):
        EquationAndNumberClassifier(vocabulary(), encoder="argument_mlp")


def test_functions_can_be_chosen(sets: Path) -> None:
    data = EquationsAndNumbers(numbers=sets / "numbers", functions=["sin", "Add"])
    assert {row.tree.function for row in (*data.train_rows, *data.test_rows)} == {"sin", "Add"}
    with pytest.raises(ValueError, match=r"test.parquet has no number equations of exp, log$"):
        _ = EquationsAndNumbers(numbers=sets / "numbers", functions=["exp", "log"]).test_rows


def test_something_must_be_learnt_from(sets: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no equations: give --data.train FILE, --data.numbers FOLDER, or both"):
        run(sets, tmp_path, **ALONE)


def test_a_folder_without_number_sets_is_named(sets: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"error: .*nowhere.train.parquet: no such file"):
        run(sets, tmp_path, **ALONE, data__numbers=tmp_path / "nowhere")
    with pytest.raises(SystemExit, match=r"error: .*nowhere.train.parquet: no such file"):
        run(sets, tmp_path, config=NUMBERS, data__numbers=tmp_path / "nowhere")
