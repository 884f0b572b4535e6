"""How a process of a training knows of the others; tests/tasks/test_two_processes.py has trainings by two."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.training.processes import check_started, local_share


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_parts_of_a_batch_are_the_batch(ranks: int) -> None:
    trainers: list[Any] = [SimpleNamespace(global_rank=rank, world_size=ranks) for rank in range(ranks)]
    for rows in (list(range(10)), list(range(3))):
        parts = [local_share(rows, trainer) for trainer in trainers]
        assert sorted(row for part in parts for row in part) == rows
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        assert {part.whole for part in parts} == {len(rows)}
    assert [local_share(["alone"], trainer) for trainer in trainers] == [["alone"]] * ranks


def test_other_processes_than_torchrun_started_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_started(3, 2)  # Lightning starts them
    for name, value in (("TORCHELASTIC_RUN_ID", "none"), ("LOCAL_WORLD_SIZE", "2"), ("WORLD_SIZE", "4")):
        monkeypatch.setenv(name, value)
    check_started(2, 2)
    for devices, machines in ((1, 1), (4, 1), (1, 4)):
        with pytest.raises(
            ValueError, match=r"torchrun started 4 processes, 2 on this machine.* --devices 2 --machines 2"
        ):
            check_started(devices, machines)
