"""The published weights."""

import pickle
from pathlib import Path

import pytest
import torch

from dgltree import load_published, open_model
from dgltree.cells import TreeLSTM, TreeRNN, TreeSMU
from dgltree.equations.pretrained.published import VOCABULARY


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "cell", "size"),
    [("tree_rnn_h45", TreeRNN, 45), ("tree_lstm_h50", TreeLSTM, 50), ("tree_smu_h50", TreeSMU, 50)],
)
def test_the_published_files_are_told_apart(name: str, cell: type, size: int, published: Path) -> None:
    path = published / "equations" / "checkpoints" / f"{name}.checkpoint"
    for model in (load_published(path), open_model(path)):
        assert type(model.encoder.cell) is cell
        assert model.encoder.cell.hidden_size == size
    weights = torch.load(path, weights_only=True)
    rows = {token: weights["Symbol.weight"][i] for token, i in {"var_9": 9, "10": 20, "2/5": 23, "0.7": 26}.items()}
    for token, row in rows.items():
        assert torch.equal(model.encoder.cell.embedding.weight[VOCABULARY.token_id(token)], row)


class Code:
    """Runs when it is unpickled, if anything unpickles it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def test_a_pickle_with_code_is_refused_and_nothing_runs(tmp_path: Path) -> None:
    path, mark = tmp_path / "weights", tmp_path / "mark"
    path.write_bytes(pickle.dumps(Code(mark)))
    with pytest.raises(ValueError, match="not a torch file of tensors"):
        load_published(path)
    torch.save({"Symbol.weight": Code(mark)}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(ValueError, match="not a torch file of tensors"):
        load_published(path)
    assert not mark.exists()


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    with pytest.raises(FileNotFoundError, match="no such file"):
        load_published(path)
    for data in (b"", b"nothing", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80"):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="not a torch file of tensors"):
            load_published(path)
    torch.save([torch.zeros(2)], path)
    with pytest.raises(ValueError, match="not a dict of tensors"):
        load_published(path)
    torch.save({"Symbol.weight": torch.zeros(34, 5), "other": torch.zeros(1)}, path)
    with pytest.raises(ValueError, match="not the weights of a published"):
        load_published(path)


@pytest.mark.data
def test_truncated_weights_are_refused(published: Path, tmp_path: Path) -> None:
    data = (published / "equations" / "checkpoints" / "tree_rnn_h45.checkpoint").read_bytes()
    path = tmp_path / "weights"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match="not a torch file of tensors"):
        load_published(path)
