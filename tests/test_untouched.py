"""Public calls leave the process as it is: before, after, and during the call as another thread sees it."""

import logging
import random
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from own_trees import QUIET

import dgltree
from dgltree import Tree, Vocabulary
from dgltree.cells import TreeLSTM
from dgltree.datasets.describe import describe
from dgltree.models.language_model import LanguageModel, load_language_model, save_language_model
from dgltree.support.unwarned import without_warnings

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.training.contest import compare_encoders
from dgltree.training.embedding import embed
from dgltree.training.repeats import fit_folds, fit_seeds
from dgltree.training.unlabelled_model import UnlabelledModel

pytestmark = QUIET
TREES = [dgltree.read_infix(text.replace("x", name)) for name in "xuvw" for text in ("x + y", "x*y", "y + x", "y*x")]
DATA = dgltree.TreeDataset(TREES, ["sum", "product"] * 8)
VOCABULARY = dgltree.Vocabulary.from_trees(TREES)
BATCH, CELL = dgltree.batch(TREES, VOCABULARY), TreeLSTM(VOCABULARY, 8)
EQUATION = "sin(x)^2 + _ = 1"
SIXTY = dgltree.TreeDataset([dgltree.read_infix(f"x{'*y' * (i % 9)} + {i}") for i in range(60)], ["a", "b", "c"] * 20)
FAR = dgltree.TreeDataset(TREES, [float(10 ** (i % 9)) for i in range(16)])
SENTENCES = dgltree.TreeDataset(
    [
        Tree("words", tuple(Tree("word", token=word) for word in f"the {a} sees the {b}".split()))
        for a in "abc"
        for b in "abc"
    ]
    * 2,
    reading=dgltree.datasets.Reading(notation="words"),
)


def trained(**options: Any) -> dgltree.TrainedModel:
    how = {"hidden_size": 4, "epochs": 2, "baseline": False} | options
    return dgltree.fit(DATA, validation=DATA, **how)


def predicted() -> Callable[[], object]:
    model = trained()
    return lambda: model.predict_proba(TREES)


def asked(ask: Callable[[dgltree.TrainedModel], object]) -> Callable[[], Callable[[], object]]:
    def prepared() -> Callable[[], object]:
        model = trained()
        return lambda: ask(model)

    return prepared


def in_a_folder(write: Callable[[str], object], call: Callable[[str], object]) -> Callable[[], Callable[[], object]]:
    def prepared() -> Callable[[], object]:
        folder = tempfile.mkdtemp()
        write(folder)
        return lambda: call(folder)

    return prepared


def estimated(kind: str, *labels: Any) -> Callable[[], Callable[[], object]]:
    return lambda: lambda: getattr(dgltree, kind)(hidden_size=4, epochs=1, baseline=False).fit(TREES * 4, *labels)


def several(call: Callable[..., object], *arguments: Any) -> Callable[[], object]:
    how: dict[str, Any] = {"hidden_size": 4, "epochs": 1, "no_baseline": True}
    return lambda: call(SIXTY, *arguments, out=tempfile.mkdtemp(), **how)


def ranked() -> Callable[[], object]:
    ranker = dgltree.Ranker(dgltree.open_model(), [dgltree.read_infix(text) for text in ("1", "cos(x)^2")])
    return lambda: ranker.rank([dgltree.read_equation(EQUATION)], top=2)


CALLS: dict[str, Callable[[], Callable[[], object]]] = {
    "fit": lambda: trained,
    "fit with a baseline": lambda: lambda: trained(baseline=True),
    "predict": predicted,
    "evaluate": asked(lambda model: model.evaluate(DATA)),
    "explain": asked(lambda model: model.explain(TREES[:1])),
    "encode": asked(lambda model: model.encode(TREES)),
    "load a model": in_a_folder(lambda folder: trained(out=folder), dgltree.TrainedModel.load),
    "load weights": in_a_folder(
        lambda folder: trained(out=folder), lambda folder: dgltree.load(f"{folder}/model.safetensors")
    ),
    "load a cell": in_a_folder(
        lambda folder: dgltree.save(CELL, f"{folder}/cell"), lambda folder: dgltree.load(f"{folder}/cell")
    ),
    "load a language model": in_a_folder(
        lambda folder: save_language_model(
            LanguageModel(Vocabulary((), ["<eos>", "<unk>", "a"], unk=True), "on_lstm", (4, 4), {"chunk_size": 2}),
            f"{folder}/words",
        ),
        lambda folder: load_language_model(f"{folder}/words"),
    ),
    "load vectors": in_a_folder(
        lambda folder: embed(DATA, out=folder, hidden_size=4, epochs=1, encoder="tree_lstm"), UnlabelledModel.load
    ),
    "open a model": lambda: dgltree.open_model,
    "embed": lambda: lambda: embed(DATA, hidden_size=4, epochs=1, encoder="tree_lstm"),
    "embed words": lambda: lambda: embed(SENTENCES, hidden_size=4, epochs=1),
    "fit on the best scale": lambda: lambda: dgltree.fit(FAR, validation=FAR, hidden_size=4, epochs=1, baseline=False),
    "fit a classifier": estimated("TreeClassifier", ["sum", "product"] * 32),
    "fit a regressor": estimated("TreeRegressor", [0.5 * i for i in range(16)] * 4),
    "fit a transformer": estimated("TreeEncoderTransformer", ["sum", "product"] * 32),
    "fit a transformer without labels": estimated("TreeEncoderTransformer"),
    "fit folds": lambda: several(fit_folds, 2),
    "fit seeds": lambda: several(fit_seeds, 2),
    "compare encoders": lambda: several(compare_encoders, ["tree_rnn", "child_sum"], 1),
    "split": lambda: lambda: dgltree.datasets.split(SIXTY, 3),
    "describe": lambda: lambda: describe(DATA, 2),
    "check": lambda: lambda: dgltree.check(EQUATION, "cos(x)^2"),
    "plan": lambda: lambda: dgltree.plan(BATCH, CELL, share=True),
    "propagate": lambda: lambda: dgltree.propagate(BATCH, CELL)["h"].sum().backward(),
    "rank": ranked,
    "complete": lambda: lambda: dgltree.complete(EQUATION),
    "verify": lambda: lambda: dgltree.verify("sin(x)^2 + cos(x)^2 = 1"),
}


def shared() -> dict[str, Any]:
    """What all threads share and no call changes, ever."""
    loggers = map(logging.getLogger, ("lightning.pytorch", "lightning.fabric"))
    return {
        "streams": (sys.stdout, sys.stderr),
        "list of filters": id(warnings.filters),
        "showwarning": warnings.showwarning,
        "levels of Lightning": [logger.level for logger in loggers],
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "random": random.getstate(),
        "numpy": repr(np.random.get_state()),
    }


def state() -> dict[str, Any]:
    """What is the same before and after a call."""
    return shared() | {"filters": list(warnings.filters), "torch": torch.get_rng_state().tolist()}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_changes_nothing_of_the_process(name: str) -> None:
    call = CALLS[name]()
    call()  # what is imported or compiled once is there from now on
    random.seed(17), np.random.seed(17), torch.manual_seed(17)  # other states than a call that seeds would leave
    before, seen, over, looks = state(), [], threading.Event(), threading.Event()

    def look() -> None:
        first = shared()
        looks.set()
        while not over.is_set():
            now = shared()
            seen.extend(key for key in now if now[key] != first[key])

    watcher = threading.Thread(target=look)
    watcher.start()
    looks.wait()
    call()
    over.set()
    watcher.join()
    after = state()
    assert [key for key in before if before[key] != after[key]] == []
    by_scikit_learn = {"list of filters", "showwarning"} if name == "fit with a baseline" else set()
    assert set(seen) <= by_scikit_learn


def test_fits_in_threads_leave_the_filters_of_warnings() -> None:
    trained(epochs=1)  # puts its entry in front of the filters, which stays
    before = list(warnings.filters)
    with ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(trained, epochs=1) for _ in range(6)]:
            future.result()
    assert list(warnings.filters) == before


def test_warnings_are_left_out_in_their_own_thread_alone() -> None:
    with without_warnings():
        pass
    before = list(warnings.filters)
    inside, outside = threading.Event(), threading.Event()

    def quiet() -> None:
        with without_warnings("noise"):
            inside.set()
            warnings.warn("noise here", stacklevel=1)
            with pytest.raises(UserWarning, match="a word"):  # pytest makes errors of them
                warnings.warn("a word", stacklevel=1)
            outside.wait(60)

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(quiet) for _ in range(2)]
        inside.wait(60)
        with pytest.raises(UserWarning, match="noise there"):
            warnings.warn("noise there", stacklevel=1)
        outside.set()
        for future in done:
            future.result()
    assert list(warnings.filters) == before
