"""What a training says of an epoch."""

from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.training.stepping import callbacks


def test_an_epoch_without_validation_was_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([10.0, 12.0, 12.0])
    monkeypatch.setattr(callbacks.time, "perf_counter", lambda: next(clock))
    trainer = SimpleNamespace(is_global_zero=True, callback_metrics={}, current_epoch=4, default_root_dir=tmp_path)
    epoch = callbacks.EpochReport()
    epoch.on_train_epoch_start(trainer, None)
    epoch.on_train_batch_end(trainer, None, None, None, 0)
    epoch.on_train_epoch_end(trainer, None)
    assert capsys.readouterr().err.endswith("; 2.0 s + 0 s\n")
