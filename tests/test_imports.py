"""What works where optional packages are not installed."""

import os
import pickle
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dgltree
from dgltree.support.moved import MOVED

HIDE = """
import sys
HIDDEN = {"dgl", "lark", "sympy", "networkx", "safetensors", "tqdm", "packaging", "lightning", "numba"}
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"{name} is hidden by the test", name=name)
sys.meta_path.insert(0, Hidden())
"""
WORK = """
import torch
import dgltree
from dgltree import BLANK, Equation, Tree, Vocabulary
from dgltree.cells import CELLS
from dgltree.encoders import TreeEncoder
from dgltree.models import EquationModel, EquationReadout
from dgltree.engine.graph import Graph
from dgltree.engine.runner import prop_nodes_topo

x = Tree("Symbol", token="var_0")
trees = [Tree("Add", (x, Tree("sin", (x,)))), x]
vocabulary = Vocabulary.from_trees(trees)
flat = dgltree.batch(trees, vocabulary)
assert dgltree.unbatch(flat) == trees
for make in CELLS.values():
    cell = make(vocabulary, 4)
    states = dgltree.propagate(flat, cell)
    states["h"].sum().backward()
    graph = Graph(flat)
    cell.prepare(graph)
    prop_nodes_topo(graph, cell.message_func, cell.reduce_func, apply_node_func=cell.apply_node_func)
    assert torch.allclose(graph.ndata["h"], states["h"])
    model = EquationModel(TreeEncoder(cell), EquationReadout())
    [ranking] = dgltree.rank(model, [Equation(Tree("sin", (BLANK,)), x)], trees)
    assert len(ranking.fillers) == 2
    dgltree.verify(Equation(x, x))
nodes = {"h": torch.ones(3)}
edges = torch.tensor([[0, 1], [2, 2]])
dgltree.prop_nodes_topo((edges, nodes), lambda edges: edges.src, lambda nodes: {"h": nodes.mailbox["h"].sum(1)})
assert nodes["h"].tolist() == [1, 1, 2]
try:
    flat.graph
except ModuleNotFoundError as error:
    print(error)
print("done")
"""
ENCODE = """
import dgltree
from dgltree import Tree, Vocabulary
from dgltree.encoders import SEQUENCE_ENCODERS, make_encoder

tree = Tree("sin", (Tree("Symbol", token="var_0"),))
vocabulary = Vocabulary.from_trees([tree])
for name in SEQUENCE_ENCODERS:
    make_encoder(name, vocabulary, 32)(dgltree.batch([tree], vocabulary)).sum().backward()
print("done")
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    quiet = {**os.environ, "DGLTREE_KERNELS": "off"}  # nothing is compiled, and a missing Numba is not told
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, env=quiet)


@pytest.mark.slow
def test_propagation_and_ranking_work_without_dgl_lark_sympy_and_the_rest_and_a_graph_says_why_not() -> None:
    done = run(HIDE + WORK)
    *why, last = done.stdout.splitlines()
    assert (last, done.stderr) == ("done", "")
    assert ".graph needs DGL (dgl is hidden by the test); " in "".join(why)
    assert ("no wheels" in "".join(why)) == (sys.version_info >= (3, 12))


@pytest.mark.slow
def test_sequence_encoders_work_without_dgl_and_the_rest() -> None:
    done = run(HIDE.replace('"sympy", ', "") + ENCODE)  # torch's own attention imports SymPy, which torch requires
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_importing_prints_nothing_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, dgltree\n"
        "dgltree.fit\n"
        "assert not {'torch', 'lightning'} & set(sys.modules)\n"
        "trained = {'TrainedModel', 'TreeClassifier', 'TreeEncoderTransformer', 'TreeRegressor'}\n"
        "names = set(dgltree.__all__) - {'TreeDataset'} - trained\n"
        "assert all(getattr(dgltree, name) is not None for name in names)\n"
        "print(sorted({'dgl', 'lark', 'sympy', 'networkx', 'safetensors'} & set(sys.modules)))"
    )
    done = run(code)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_public_name_is_found_where_it_is_said_to_be() -> None:
    assert sorted(name for names in dgltree._MODULES.values() for name in names) == sorted(dgltree.__all__)
    assert set(dgltree.__all__) <= set(dir(dgltree))


def test_dir_shows_what_is_public_and_the_version_is_known() -> None:
    assert {"cells", "datasets", "training", "__version__", "fit"} <= set(dir(dgltree))
    assert not {"import_module", "TYPE_CHECKING"} & set(dir(dgltree))
    assert dgltree.cells.TreeLSTM
    from importlib.metadata import version

    assert dgltree.__version__ == version("dgltree")
    done = subprocess.run([sys.executable, "-m", "dgltree", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"dgltree {version('dgltree')}\n"


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_module_that_moved_is_named_by_an_import_or_a_pickle_of_before(old: str, new: str) -> None:
    assert import_module(new)
    package = old.rpartition(".")[0]  # is imported first, and may have moved as a whole
    message = f"{package} is now {MOVED[package]}" if package in MOVED else f"{old} is now {new}"
    with pytest.raises(ModuleNotFoundError, match=rf"^{re.escape(message)}$"):
        import_module(old)
    with pytest.raises(ModuleNotFoundError, match=rf"^{re.escape(message)}$"):
        pickle.loads(f"c{old}\nName\n.".encode())


PACKAGES = (
    "batching", "cells", "datasets", "encoders", "engine", "equations", "induction", "models", "plotting", "ranking",
    "read", "training", "trees",
)  # fmt: skip


def test_every_public_package_is_there_without_an_import_of_its_own() -> None:
    code = (
        "import sys, dgltree\n"
        f"for name in {PACKAGES!r}:\n"
        "    assert f'dgltree.{name}' not in sys.modules or name in vars(dgltree), name\n"
        "    assert getattr(dgltree, name).__name__ == f'dgltree.{name}'\n"
        "print(sorted({*dir(dgltree)} & {*sys.argv[1:]}))"
    )
    folders = [entry.parent.name for entry in Path(dgltree.__file__).parent.glob("*/__init__.py")]
    done = subprocess.run([sys.executable, "-c", code, *folders], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sorted(PACKAGES))
