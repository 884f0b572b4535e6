"""Checkpoints of trainings: what was changed since they were written is refused."""

import random
from pathlib import Path

import pytest
import torch

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree.training.stepping.callbacks import WholeCheckpoints, check_checkpoint

CONTENT = {"state_dict": {"weight": torch.arange(200.0)}, "epoch": 3}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    WholeCheckpoints().save_checkpoint(CONTENT, tmp_path / "last.ckpt")
    return tmp_path / "last.ckpt"


def test_a_checkpoint_holds_what_was_saved(path: Path) -> None:
    for found in (
        check_checkpoint(path),
        WholeCheckpoints().load_checkpoint(path),
        torch.load(path, weights_only=True),
    ):
        assert found["epoch"] == 3
        assert torch.equal(found["state_dict"]["weight"], CONTENT["state_dict"]["weight"])


def test_any_flipped_bit_is_noticed(path: Path) -> None:
    whole, rng = path.read_bytes(), random.Random(0)
    bits = [*rng.sample(range(8 * len(whole)), 600), *range(8 * (len(whole) - 80), 8 * len(whole))]
    for bit in bits:
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        for read in (check_checkpoint, WholeCheckpoints().load_checkpoint):
            with pytest.raises(ValueError, match=r"last\.ckpt: .*damaged .*; delete it to start again"):
                read(path)


@pytest.mark.parametrize("kept", [0, 10, 79, 500, -1])
def test_a_truncated_checkpoint_is_refused(kept: int, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match=r"last\.ckpt: not a checkpoint of a training, or damaged"):
        check_checkpoint(path)


def test_a_checkpoint_without_a_digest_is_refused_in_one_sentence(path: Path) -> None:
    torch.save(CONTENT, path)
    with pytest.raises(ValueError, match=r"last\.ckpt: .*no digest\); delete it") as said:
        check_checkpoint(path)
    assert "\n" not in str(said.value)


class Spoiler:
    """An object that its unpickling would run code for."""

    def __reduce__(self) -> tuple[object, ...]:
        return Path.write_text, (Path("spoiled"), "this was run")


def test_what_a_checkpoint_says_to_run_is_refused_and_not_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    WholeCheckpoints().save_checkpoint({"state_dict": {}, "epoch": Spoiler()}, path)
    with pytest.raises(ValueError, match="not a checkpoint of a training, or damaged"):
        check_checkpoint(path)
    assert not Path("spoiled").exists()


def test_another_file_of_torch_with_a_digest_is_no_checkpoint(path: Path) -> None:
    WholeCheckpoints().save_checkpoint({"weights": torch.ones(2)}, path)
    with pytest.raises(ValueError, match="no state_dict in it"):
        check_checkpoint(path)
