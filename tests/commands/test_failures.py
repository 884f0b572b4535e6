"""Too little memory, a missing GPU, and a full disk are one line that says what would help."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from own_trees import QUIET, SMALL, table

from dgltree.commands import inspect, verify
from dgltree.commands.main import describe_failure, main

pytestmark = QUIET

TOO_MUCH = 10**15


def allocation_of_the_cpu() -> None:
    torch.empty(TOO_MUCH)


def allocation_of_a_gpu() -> None:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has 1 GiB free.\nSee the docs")


def allocation_of_python() -> None:
    raise MemoryError


def of_a_process_that_reads_ahead() -> None:
    raise MemoryError("Caught MemoryError in DataLoader worker process 0.\nOriginal Traceback (most recent call last):")


def of_a_new_thread() -> None:
    raise RuntimeError("can't start new thread")


def of_the_system() -> None:
    raise MemoryError("Cannot allocate memory (os error 12)")


@pytest.mark.parametrize(
    ("fail", "said"),
    [
        (of_a_process_that_reads_ahead, "out of memory: {}"),
        (of_a_new_thread, "out of memory: {}"),
        (of_the_system, "out of memory: {}"),
        (allocation_of_the_cpu, "out of memory (4,000,000,000 MB more were requested): {}"),
        (allocation_of_a_gpu, "out of memory (20.00 GiB more were requested): {}"),
        (allocation_of_python, "out of memory: {}"),
    ],
)
@pytest.mark.parametrize(
    ("command", "module", "helps"),
    [
        ("verify", verify, "try a smaller equation"),
        ("inspect", inspect, "leave out long records (--max-line)"),
    ],
)
def test_too_little_memory_is_one_line(
    fail, said: str, command: str, module, helps: str, monkeypatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "run", lambda *_: fail())
    assert main([command, __file__]) == 1
    assert capsys.readouterr().err == f"dgltree: {said.format(helps)}\n"


def test_our_own_message_about_memory_is_said_as_it_is(monkeypatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("TreeLSTM needs 5 GiB, and cpu has 1 GiB left; use share=True")

    monkeypatch.setattr(inspect, "run", fail)
    assert main(["inspect", __file__]) == 1
    assert capsys.readouterr().err == "dgltree: TreeLSTM needs 5 GiB, and cpu has 1 GiB left; use share=True\n"


def test_other_errors_of_the_program_are_seen_with_their_traceback(monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("sizes do not match")

    monkeypatch.setattr(inspect, "run", fail)
    with pytest.raises(RuntimeError, match="sizes do not match"):
        main(["inspect", __file__])


def test_a_model_larger_than_the_memory_says_what_to_make_smaller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    path = tmp_path / "trees.tsv"
    path.write_text(table(40), encoding="utf-8")
    arguments = ["fit", str(path), "--out", str(tmp_path / "model"), *SMALL]
    assert main([*arguments, "--hidden-size", "5000000"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "GiB of weights" in last
    assert "use a smaller hidden_size (--hidden-size)" in last


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_a_missing_gpu_is_one_line(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("lightning", reason="the train extra is not installed")
    path = tmp_path / "trees.tsv"
    path.write_text(table(40), encoding="utf-8")
    for name in ("model.safetensors", "reading.json"):
        (tmp_path / name).touch()
    paths = [str(path), "--out", str(tmp_path / "model")] if command == "fit" else [str(tmp_path), str(path)]
    assert main([command, *paths, "--device", "cuda"]) == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert "torch finds no CUDA device; without --device cuda the CPU is used" in last


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")
@pytest.mark.parametrize("unbuffered", ["1", ""])
@pytest.mark.parametrize("arguments", [["--version"], ["verify", "x = x"]])
def test_a_full_disk_under_standard_output_is_named(arguments: list[str], unbuffered: str, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "dgltree", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=900)
    assert done.stderr == "dgltree: [Errno 28] No space left on device: 'standard output'\n"
    assert done.returncode == 1


def test_letters_that_the_encoding_of_the_output_lacks_are_named() -> None:
    error = UnicodeEncodeError("ascii", "a │ b", 2, 3, "ordinal not in range(128)")
    assert (
        describe_failure(error, "inspect")
        == "'\\u2502' cannot be written in ascii; set PYTHONUTF8=1, or a locale with UTF-8"
    )


@pytest.mark.parametrize(
    "text",
    [
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:1: Connection reset by peer",
        "[/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv",
        "NCCL error: remote process exited or there was a network error",
    ],
)
def test_a_process_that_was_killed_is_one_line_with_what_to_do(text: str) -> None:
    said = describe_failure(RuntimeError(text), "fit")
    assert said is not None and said.startswith("another process of this training ended")
    assert describe_failure(ValueError(text), "fit") is None
