"""The benchmark: its peers compute what we compute, and its program says what it measured."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")  # the generators of the tasks

from benchmarks import dgl_programs, sst_example, topo
from benchmarks import main as program
from benchmarks.autobatching import CLASSES, drawn
from benchmarks.downward import TwoSweeps
from benchmarks.inputs import equations, formulas, treebank
from benchmarks.latent import kept_bytes
from benchmarks.literal_beams import LiteralBeams
from benchmarks.peers import (
    BareProducts,
    LiteralONLSTM,
    LiteralOrderedMemory,
    RecursiveTreeSMU,
    child_sum_input,
    sequence_lstm,
)
from benchmarks.row import Row, Skipped
from dgltree import Vocabulary, batch, plan, prop_nodes_topo, propagate
from dgltree.cells import ChildSumTreeLSTM, DownwardTreeLSTM, TreeLSTM, TreeSMU
from dgltree.encoders import ONLSTM, OrderedMemory, SequenceBeamTree, SequenceEfficientBeamTree


@pytest.fixture(autouse=True)
def generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DGLTREE_DATA", raising=False)


def test_recursion_has_the_states_of_our_cell() -> None:
    known = equations(12)
    sides = [side for equation in known for side in equation]
    torch.manual_seed(0)
    cell = TreeSMU(Vocabulary.from_trees(sides), 6, stack_size=3, no_op=True)
    model = RecursiveTreeSMU(cell)
    trees = batch(sides, cell.vocabulary)
    ours = propagate(trees, cell)["h"][trees.roots]
    torch.testing.assert_close(torch.stack([model(side)[0] for side in sides]), ours, rtol=0, atol=1e-5)


def test_two_sweeps_by_recursion_have_the_states_of_our_cells() -> None:
    sides = [side for equation in equations(6) for side in equation]
    torch.manual_seed(0)
    vocabulary = Vocabulary.from_trees(sides)
    up, down = TreeLSTM(vocabulary, 6), DownwardTreeLSTM(vocabulary, 6)
    model, trees = TwoSweeps(up, down), batch(sides, vocabulary)
    ours = propagate(trees, down, direction="down", up=propagate(trees, up))["h"]
    found = [model(side) for side in sides if len({id(node) for node in side.preorder()}) == side.size]
    starts = trees.sizes.cumsum(0) - trees.sizes
    known = [k for k, side in enumerate(sides) if len({id(node) for node in side.preorder()}) == side.size]
    assert known
    for k, states in zip(known, found, strict=True):
        own = ours[int(starts[k]) : int(starts[k] + trees.sizes[k])]
        torch.testing.assert_close(states, own, rtol=0, atol=1e-5)


@pytest.mark.parametrize("binary", [False, True])
def test_calls_whose_rows_are_ready_compute_what_a_pass_computes(binary: bool) -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    trees = topo.batched([*treebank(3), topo.chain(4)])
    model = sst_example.TreeLSTM(4, binary=binary)
    ways = topo.steps(model, trees)
    calls = topo.recorded(model, trees)
    found = []
    for step in (*ways.values(), lambda: topo.replay(calls)):
        model.zero_grad()
        step()
        found.append([parameter.grad for parameter in model.parameters()])
    for one, other in zip(*found[:2], strict=True):
        torch.testing.assert_close(one, other)
    assert all(gradient is not None for gradient in found[2])
    nodes = sum(
        len(rows["h"])
        for function, given, _ in calls
        for rows in [function(given)]
        if "h" in rows and "iou" in given.data
    )
    assert nodes == trees.num_nodes


@pytest.mark.slow
def test_each_program_has_a_row_for_time_and_one_for_memory_and_both_have_a_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    monkeypatch.setattr(topo, "PROGRAMS", [dgl_programs.n_ary_tree_lstm, dgl_programs.sentence_graphs])
    monkeypatch.setattr(topo, "GRAPHS", 1)
    rows = [row for row in topo._programs(1) if isinstance(row, Row)]
    by_unit = {unit: [row for row in rows if row.unit == unit] for unit in ("times dgl", "times torch", "of DGL's")}
    if sys.platform != "linux":
        del by_unit["of DGL's"]  # memory is read from /proc
    for first, second, mean in by_unit.values():
        assert first.name.startswith("n_ary_tree_lstm")
        assert second.name.startswith("sentence_graphs")
        assert mean.name.endswith("geometric mean")
        assert mean.ratio == pytest.approx((first.ratio * second.ratio) ** 0.5)
    [compiled] = [row for row in rows if row.unit == "are compiled whole"]
    assert compiled.ratio == (2 if importlib.util.find_spec("llvmlite") else 0)


def test_the_example_of_dgl_has_the_same_losses_by_all_ways() -> None:
    pytest.importorskip("dgl", reason="DGL is not installed")
    trees = topo.batched(treebank(3))
    model = sst_example.Sentiment(trees.vocabulary, dropout=0).double()
    cell = sst_example.AsCell(trees.vocabulary, model)
    ways = (
        lambda: model(trees.graph, sst_example.by_dgl),
        lambda: model(trees.graph, prop_nodes_topo),
        lambda: cell(trees),
    )
    first, *others = (way() for way in ways)
    for other in others:
        torch.testing.assert_close(other, first, rtol=0, atol=1e-12)


def test_the_bare_products_are_those_of_the_plan() -> None:
    known = equations(12)
    cell = TreeSMU(Vocabulary.from_trees(side for equation in known for side in equation), 6)
    trees = batch(known, cell.vocabulary)
    bare = BareProducts(cell, plan(trees, cell).schedule)
    assert sum(len(v) for v, *_ in bare.steps) == int((trees.arity > 0).sum())
    assert sum(len(v) for _, v in bare.weights) == int((trees.arity > 0).sum())
    bare()


@pytest.mark.parametrize("core", [SequenceBeamTree, SequenceEfficientBeamTree])
def test_whole_beams_and_row_numbers_come_to_the_same(core: type) -> None:
    torch.manual_seed(0)
    made = core(9, 12, beam_size=3, noise=False).double()
    ids = torch.tensor([[3, 4, 5, 6, 7, 8], [8, 6, 4, 7, 5, 3]])
    expected = made(ids, torch.tensor([6, 6]))
    torch.testing.assert_close(LiteralBeams(made)(ids), expected, rtol=0, atol=1e-12)
    assert kept_bytes(lambda: made.embedding(ids) * made.embedding.weight[3]) > 0


def test_the_package_and_our_child_sum_cell_compute_the_same() -> None:
    tree_lstm = pytest.importorskip("treelstm", reason="the bench extra is not installed").TreeLSTM
    sentences = treebank(4)
    vocabulary = Vocabulary.from_trees(sentences)
    given = child_sum_input(sentences, vocabulary, 5)
    trees = batch(sentences, vocabulary, x=given["features"])
    cell, theirs = ChildSumTreeLSTM(vocabulary, 4, input_size=5, leaf="gates"), tree_lstm(5, 4)
    del given["tree_sizes"]
    maps = cell.named_maps()
    with torch.no_grad():  # our gates are u, in, o; theirs in, o, u
        order = [1, 2, 0]
        gates, x = maps["gates_any"], maps["input_any"].weight[0]
        parts = gates.weight[0].split(4), gates.bias[0].split(4), x[:12].split(4)
        theirs.U_iou.weight.copy_(torch.cat([parts[0][k] for k in order]))
        theirs.W_iou.bias.copy_(torch.cat([parts[1][k] for k in order]))
        theirs.W_iou.weight.copy_(torch.cat([parts[2][k] for k in order]))
        theirs.U_f.weight.copy_(maps["message_any"].weight[0])
        theirs.W_f.bias.copy_(maps["message_any"].bias[0])
        theirs.W_f.weight.copy_(x[12:])
    torch.testing.assert_close(theirs(**given)[0], propagate(trees, cell)["h"], rtol=0, atol=1e-5)


@pytest.mark.parametrize(("autobatch", "share"), [(True, False), (False, False), (True, True)])
def test_the_program_of_dynet_and_our_tree_lstm_have_the_same_loss_before_and_after_steps(
    autobatch: bool, share: bool
) -> None:
    pytest.importorskip("dynet", reason="the bench extra is not installed")
    from benchmarks.dynet_tree_lstm import RATE, DyNetTreeLSTM, OurTreeLSTM

    torch.set_flush_denormal(False)  # DyNet's library makes the smallest numbers 0 in the whole process
    trees = drawn(6)
    vocabulary = Vocabulary.from_trees(trees)
    torch.manual_seed(0)
    ours = OurTreeLSTM(TreeLSTM(vocabulary, 7, input_size=5, leaf="gates"), CLASSES)
    theirs, planned = DyNetTreeLSTM(ours), plan(batch(trees, vocabulary), ours.cell, share=share)
    assert (len(planned.schedule) < planned.batch.num_nodes) == share
    adagrad = torch.optim.Adagrad(ours.parameters(), RATE)
    for _ in range(3):
        adagrad.zero_grad()
        loss = ours.loss(planned)
        loss.backward()
        adagrad.step()
        assert theirs.step(trees, autobatch) == pytest.approx(loss.item(), rel=1e-5)


def test_the_literal_on_lstm_has_the_states_of_ours() -> None:
    torch.manual_seed(0)
    ours = ONLSTM(5, [6], chunk_size=2)
    x, lengths = torch.randn(3, 7, 5), torch.tensor([7, 2, 4])
    root = ours(x, torch.arange(7) >= lengths.unsqueeze(1)).root
    torch.testing.assert_close(LiteralONLSTM(ours.layers[0])(x, lengths), root, rtol=0, atol=1e-5)


def test_the_literal_ordered_memory_has_the_states_of_ours() -> None:
    torch.manual_seed(0)
    ours = OrderedMemory(5, 6)
    x, lengths = torch.randn(3, 7, 5), torch.tensor([7, 2, 4])
    root = ours(x, torch.arange(7) >= lengths.unsqueeze(1), 4).root
    torch.testing.assert_close(LiteralOrderedMemory(ours, 4)(x, lengths), root, rtol=0, atol=1e-5)


def test_the_lstm_reads_to_the_end_of_each_sequence() -> None:
    embedding, lstm = torch.nn.Embedding(9, 4), torch.nn.LSTM(4, 4, batch_first=True)
    ids = torch.tensor([[1, 2, 3], [4, 0, 0]])
    alone = sequence_lstm(embedding, lstm, ids[1:, :1], torch.tensor([1]))
    torch.testing.assert_close(sequence_lstm(embedding, lstm, ids, torch.tensor([3, 1]))[1:], alone)


@pytest.mark.slow
def test_generated_input_is_the_same_every_time() -> None:
    for make in (equations, treebank, formulas):
        first = make(5)
        make.cache_clear()
        assert make(5) == first


def test_a_row_is_met_on_the_right_side_of_its_least() -> None:
    assert Row("a", 3, "times", aim=4, least=2).met
    assert not Row("a", 1, "times", aim=4, least=2).met
    assert Row("a", 1, "ms", aim=2, least=4, falling=True).met
    assert not Row("a", 5, "ms", aim=2, least=4, falling=True).met
    assert Row("a", 5, "ms").met


@pytest.mark.parametrize("least", [2.0, 4.0])
def test_the_program_writes_its_rows_and_fails_where_one_is_missed(
    least: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [Row("us", 3.0, "times them", 5.0, least, ours_s=0.1, peers={"them": 0.3}), Skipped("more", "no peer")]
    monkeypatch.setitem(program.SUITES, "batch", lambda device, repeats: iter(made))
    status = program.main(["--suite", "batch", f"--json={tmp_path / 'rows.json'}"])
    assert status == (1 if least == 4 else 0)
    out = capsys.readouterr().out
    assert ("MISSED" in out) == (least == 4)
    assert "skipped: no peer" in out
    found = json.loads((tmp_path / "rows.json").read_text())
    assert found["rows"][0] | {"peers": {"them": 0.3}, "ratio": 3.0, "least": least, "ours_s": 0.1} == found["rows"][0]
    assert found["skipped"] == [{"name": "more", "reason": "no peer"}]


def test_a_suite_whose_packages_are_missing_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rows(device: str, repeats: int) -> Iterator[Row]:
        yield Row("us", 3.0, "times them")
        raise ModuleNotFoundError("No module named 'treelstm'", name="treelstm")

    monkeypatch.setitem(program.SUITES, "batch", rows)
    assert program.main(["--suite", "batch"]) == 0
    assert "what else is in batch" in capsys.readouterr().out


def test_equations_are_drawn_where_their_generator_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tasks.equations.generator.generate", "dgltree.ranking.pretrained"):
        monkeypatch.setitem(sys.modules, name, None)
    equations.cache_clear()
    known = equations(50)
    equations.cache_clear()
    assert len(set(known)) > 40
    assert {node.function for side in known[0] for node in side.preorder()} <= {
        "Add",
        "Mul",
        "Pow",
        "sin",
        "cos",
        "Symbol",
    }


def test_no_gpu_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    assert program.main(["--device", "cuda"]) == 0
    assert "skipped: --device cuda, but torch finds no CUDA device" in capsys.readouterr().out


@pytest.mark.slow
def test_what_only_a_gpu_can_say_is_measured_once_and_can_be_tried_on_a_cpu(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    command = [
        sys.executable,
        str(Path(program.__file__).parents[1] / "scripts" / "on_gpu"),
        "--out",
        str(file),
        "--device",
        "cpu",
    ]
    command += ["--sizes", "4", "--widths", "5", "--pieces", "equal"]
    done = subprocess.run([*command, "--seconds", "0"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the same command continues there" in done.stderr
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert len(first.splitlines()) == len(rows) == 16
    assert second == ""
    for name, row in rows.items():  # a LayerNorm of three columns magnifies what is rounded in 32 bits
        assert row["error"] < (1e-12 if "float64" in name else 1e-4) and not row["runs_with_other_bits"], name
