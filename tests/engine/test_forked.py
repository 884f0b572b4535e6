"""A forked process computes as its parent does, where that had one thread (docs/howto/processes.md)."""

import subprocess
import sys

import pytest

FORKED = """
import os, signal, torch
from dgltree import Vocabulary, batch, propagate, read_infix
from dgltree.cells import TreeLSTM
torch.set_num_threads(1)
trees = [read_infix("x+y*x")] * 50
vocabulary = Vocabulary.from_trees(trees)
cell, flat = TreeLSTM(vocabulary, 128), batch(trees, vocabulary)
before = propagate(flat, cell)["h"]
child = os.fork()
if not child:
    signal.alarm(60)
    os._exit(0 if torch.equal(before, propagate(flat, cell)["h"]) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.slow
def test_a_process_of_one_thread_can_be_forked() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
