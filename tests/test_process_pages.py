"""The programs of the pages on several processes run: a loop of one's own by torchrun, and a job of SLURM."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from page_blocks import ROOT, blocks

from dgltree.commands.main import main

ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "DGLBACKEND": "pytorch", "PYTHONPATH": str(ROOT)}
STANDS_IN = {
    "scontrol": 'echo "$@" >> asked.txt; [ "$1" != show ] || echo localhost',
    "srun": 'exec "$@"',
    "torchrun": f'exec {sys.executable} -m torch.distributed.run "$@"',
    "dgltree": f'exec {sys.executable} -m dgltree "$@"',
}
"""Commands of a cluster with one node, and of an environment."""


def program(page: str, kind: str) -> str:
    [found] = [block.text for block in blocks(ROOT / "docs" / "howto" / page) if block.kind == kind]
    return found


@pytest.mark.slow
def test_processes_that_share_batches_have_the_weights_of_one(tmp_path: Path) -> None:
    (tmp_path / "own_ddp.py").write_text(program("own_ddp.md", "python"), encoding="utf-8")
    for processes in (2, 3):
        run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        done = subprocess.run(
            [*run, "own_ddp.py"], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("weights as of one process: True") == processes


@pytest.mark.slow
def test_the_job_of_slurm_trains_and_its_requeued_self_finds_it_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    for name, text in STANDS_IN.items():
        command = tmp_path / "bin" / name
        command.parent.mkdir(exist_ok=True)
        command.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        command.chmod(0o755)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/activate").write_text("", encoding="utf-8")
    main(["sample"])
    table = capsys.readouterr().out.splitlines()[:201]
    (tmp_path / "trees.tsv").write_text("\n".join(table) + "\n", encoding="utf-8")
    options = "--epochs 1 --hidden-size 8 --baseline fast --device cpu --out"
    script = program("slurm.md", "bash").replace("--out", options).replace(":29500", ":0")
    (tmp_path / "train.slurm").write_text(script, encoding="utf-8")
    job = {"SLURM_JOB_NODELIST": "node", "SLURM_JOB_ID": "7", "SLURM_NNODES": "1"}
    environment = ENVIRONMENT | job | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    for again in (False, True):
        run = ["bash", "train.slurm"]
        done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=500)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "runs/trees/card.json").exists()
        assert again == bool(re.search("already|is done|is trained", done.stdout + done.stderr)), done.stdout
    assert "show hostnames node" in (tmp_path / "asked.txt").read_text(encoding="utf-8")
