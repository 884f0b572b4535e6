"""The roads of users on a GPU: the numbers of the CPU, and no step that waits for the device.

Every test runs twice: on a GPU if there is one (``pytest -m gpu``), and on a second device that is emulated on the CPU
(tests/second_device.py), which tests placement and not kernels.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from engines import assert_close, gradients
from equation_models import candidates, make_model, questions
from helpers import VOCABULARY, chain, random_tree, suited
from rows import ROWS, make_cell, make_sequence_encoder
from second_device import Device, second_device
from syncs import syncs
from torch import Tensor, nn
from torch.utils.data import DataLoader

import dgltree
from dgltree import batch, plan, propagate, root_states
from dgltree.cells import TreeSMU
from dgltree.datasets.batches import Collate, NodeBatches
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.encoders import SequenceEfficientBeamTree, TreeEncoder
from dgltree.engine.kernels.dispatch import kernels

REAL = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")]
ENCODERS = ("lstm", "on_lstm", "ordered_memory", "beam_tree", "crvnn", "transformer")


@pytest.fixture(params=["emulated", pytest.param("cuda", marks=REAL)])
def emulated(request: pytest.FixtureRequest) -> Iterator[Device | None]:
    if request.param == "cuda":
        yield None
        return
    with second_device() as device, kernels("off"):
        yield device


def waits(run: Callable[[], object], emulated: Device | None) -> int:
    """How often a run waits for the device."""
    if emulated is not None:
        before = emulated.reads.total() + emulated.copies.total()
        run()
        return emulated.reads.total() + emulated.copies.total() - before
    with syncs() as found:
        run()
    return len(found)


@pytest.mark.parametrize("name", ROWS)
def test_a_gpu_gives_the_same_states_and_gradients(name: str, emulated: Device | None) -> None:
    cell = make_cell(name)
    trees = batch(suited(cell, [random_tree(4, 3, seed) for seed in range(3)]), cell.vocabulary)
    expected = propagate(trees, cell)
    wanted = gradients(cell, expected)
    found = propagate(plan(trees, cell.to("cuda")).to("cuda"), cell)
    given = gradients(cell, found)
    for results, right in ((found, expected), (given, wanted)):
        for what, tensor in right.items():
            assert_close(results[what].cpu(), tensor, what)


@pytest.mark.parametrize("name", ["tree_smu, no_op", "tree_lstm, leaf gates", "child_sum, positions"])
def test_a_planned_pass_never_waits(name: str, emulated: Device | None) -> None:
    cell = make_cell(name).to("cuda")
    trees = suited(cell, [random_tree(6, 3, seed) for seed in range(4)])
    planned = plan(batch(trees, cell.vocabulary), cell).to("cuda")

    def step() -> None:
        root_states(planned, cell).sum().backward()

    step()  # the first call sets up the device's libraries
    assert waits(step, emulated) == 0


def test_no_step_of_an_unplanned_pass_waits(emulated: Device | None) -> None:
    cell, counts = TreeSMU(VOCABULARY, 5, stack_size=3, no_op=True).to("cuda"), []
    for depth in (5, 50):
        trees = batch([chain(depth), chain(3)], VOCABULARY).to("cuda")

        def step(trees=trees) -> None:
            root_states(trees, cell).sum().backward()

        step()
        counts.append(waits(step, emulated))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("name", ENCODERS)
def test_a_gpu_gives_the_same_vectors_of_sequences(name: str, emulated: Device | None) -> None:
    encoder = make_sequence_encoder(name, VOCABULARY).double()
    planned = encoder.plan(batch([random_tree(4, 3, seed) for seed in range(4)], VOCABULARY), share=False)
    expected = encoder(planned)
    found = encoder.to("cuda")(planned.to("cuda"))
    torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "options", [{"chunk_size": 3}, {"chunk_size": 3, "handed_on": "mean"}, {"in_context": True}, {"front": "s4d"}]
)
def test_a_gpu_gives_the_same_beams_of_chunks_and_words_in_context(
    options: dict[str, Any], emulated: Device | None
) -> None:
    torch.manual_seed(0)
    core = SequenceEfficientBeamTree(8, 6, beam_size=3, **options).double().eval()
    ids, lengths = torch.randint(3, 8, (3, 9)), torch.tensor([9, 4, 1])

    def read(ids: Tensor, lengths: Tensor) -> Tensor:
        return core.words_in_context(ids, lengths) if core.context is not None else core(ids, lengths)

    expected = read(ids, lengths)
    core.to("cuda")
    torch.testing.assert_close(read(ids.to("cuda"), lengths.to("cuda")).cpu(), expected, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_a_loader_plans_for_a_model_on_the_gpu_and_it_learns(emulated: Device | None) -> None:
    """The program of docs/own_trees.md, with ``Collate(classes, encoder)``."""
    trees = [dgltree.read_infix(text) for text in ("x+y", "x*y", "sin(x)", "x*(y+x)", "sin(y)*x", "x+x")]
    data = TreeDataset(trees, labels=["sum", "product", "sine", "product", "product", "sum"])
    data = data.within(data.vocabulary())
    classes = ["sum", "product", "sine"]
    torch.manual_seed(0)
    encoder = TreeEncoder(TreeSMU(data.own_vocabulary, 8)).to("cuda")
    readout = nn.Linear(8, 3).to("cuda")
    collate = Collate(classes, encoder)
    loader = DataLoader(data, batch_sampler=NodeBatches(data.sizes, 12, seed=0), collate_fn=collate)
    optimizer = torch.optim.Adam([*encoder.parameters(), *readout.parameters()], 0.05)
    losses = []
    for _ in range(25):
        total = 0.0
        for labelled in loader:
            there = labelled.pin_memory().to("cuda", non_blocking=True)
            loss = nn.functional.cross_entropy(readout(encoder(there.inputs)), there.labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        losses.append(total)
    assert losses[-1] < losses[0] / 2


def test_a_ranker_scores_on_the_gpu_as_on_the_cpu(emulated: Device | None) -> None:
    model, equations, fillers = make_model(), questions(1), candidates(2)
    expected = dgltree.Ranker(model, fillers).rank(equations)
    found = dgltree.Ranker(model.to("cuda"), fillers).rank(equations)
    for one, other in zip(found, expected, strict=True):
        assert one.fillers == other.fillers
        torch.testing.assert_close(one.scores.cpu(), other.scores, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_fit_trains_on_the_gpu_and_its_model_gives_the_same_vectors_there(
    emulated: Device | None, tmp_path: Path
) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    from own_trees import table

    from dgltree.commands.main import main

    (tmp_path / "trees.tsv").write_text(table(60), encoding="utf-8")
    size = ["--hidden-size", "6", "--epochs", "2", "--batch-nodes", "200", "--device", "cuda"]
    assert main(["fit", str(tmp_path / "trees.tsv"), "--out", str(tmp_path / "run"), *size]) == 0
    texts = ["x+y", "x*(y-z)"]
    here, there = (dgltree.TrainedModel.load(tmp_path / "run", device).encode(texts) for device in ("cpu", "cuda"))
    torch.testing.assert_close(there, here, rtol=0, atol=1e-5)
