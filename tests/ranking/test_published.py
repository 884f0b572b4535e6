"""Published weights become the model that their parameter names imply; all else is refused, and no code in it runs."""

import pickle
from pathlib import Path

import pytest
import torch
from torch import Tensor

from dgltree import Tree, Vocabulary, batch, load_published, open_model, propagate, read_infix, save
from dgltree.cells import TreeLSTM, TreeRNN, TreeSMU
from dgltree.encoders import make_encoder
from dgltree.models import TreeModel
from dgltree.models.readouts import NumberReadout
from dgltree.ranking.pretrained import BINARY, ROWS, UNARY, VOCABULARY


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


class Program:
    """The published Tree-SMU on one equation's side, a node at a time, from the tensors of a file by their names."""

    def __init__(self, weights: dict[str, Tensor], size: int) -> None:
        self.weights, self.size = weights, size

    def gate(self, name: str, i: Tensor) -> Tensor:
        return torch.sigmoid(self.weights[f"{name}.weight"] @ i + self.weights[f"{name}.bias"])

    def __call__(self, tree: Tree) -> tuple[Tensor, Tensor]:
        if not tree.children:
            row = ROWS.index(tree.token)
            return self.weights["Symbol.weight"][row], torch.zeros(self.size, self.weights["Symbol.weight"].shape[1])
        below = [self(child) for child in tree.children]
        i, f, stack = torch.cat([h for h, _ in below]), tree.function, f"{tree.function}_stack"
        names = ["gate_linear"] if len(below) == 1 else ["gate_linear_l", "gate_linear_r"]
        Sc = sum(self.gate(f"{stack}.{name}", i) * S for name, (_, S) in zip(names, below, strict=True))
        u = torch.tanh(self.weights[f"{stack}.input_linear.weight"] @ i + self.weights[f"{stack}.input_linear.bias"])
        if f"{stack}.data_linear.weight" in self.weights:
            u = u * self.gate(f"{stack}.data_linear", i)
        actions = {
            name: self.gate(f"{stack}.{name}_gate_linear", i)
            for name in ("push", "pop", "no_op")
            if f"{stack}.{name}_gate_linear.weight" in self.weights
        }
        shares = dict(zip(actions, torch.stack(list(actions.values())).softmax(0), strict=True))
        empty = torch.zeros(1, len(u))
        moved = {"push": torch.cat([u.unsqueeze(0), Sc[:-1]]), "pop": torch.cat([Sc[1:], empty]), "no_op": Sc}
        S = sum(shares[name] * moved[name] for name in shares)
        read, rows = S[0], [name for name in self.weights if name.startswith(f"{f}.pos_linear_")]
        if f"{f}.pos_linear.weight" in self.weights:
            q = self.gate(f"{f}.pos_linear", i)
            read = q @ S[: len(q)]
        elif rows:
            read = sum(self.gate(f"{f}.pos_linear_{k + 1}", i) * S[k] for k in range(len(rows) // 2))
        return self.gate(f"{f}.o_linear", i) * torch.tanh(read), S


def file_of(options: dict[str, object], n: int = 4) -> dict[str, Tensor]:
    """Drawn weights by the names that the program gives them with these options."""
    generator = torch.Generator().manual_seed(0)
    weights = {"Symbol.weight": torch.randn(34, n, generator=generator), "bias": torch.zeros(1)}
    sizes = {"Number_enc.linear1": (n, 1), "Number_dec.linear2": (1, n)}
    for f, arity in [*((f, 1) for f in UNARY), *((f, 2) for f in BINARY)]:
        gates = ["gate_linear"] if arity == 1 else ["gate_linear_l", "gate_linear_r"]
        stack = ["input_linear", "push_gate_linear", *gates]
        stack += ["pop_gate_linear"] if options.get("pop", True) else []
        stack += ["no_op_gate_linear"] if options.get("no_op", True) else []
        stack += ["data_linear"] if options.get("likeLSTM") else []
        names = [f"{f}.o_linear", *(f"{f}_stack.{name}" for name in stack)]
        k = options.get("top_k", 1)
        if options.get("gated"):
            names += [f"{f}.pos_linear_{row}" for row in range(1, k + 1)]
        elif k > 1:
            sizes[f"{f}.pos_linear"] = (k, arity * n)
        sizes |= dict.fromkeys(names, (n, arity * n))
    for name, size in sizes.items():
        weights[f"{name}.weight"] = torch.randn(size, generator=generator)
        weights[f"{name}.bias"] = torch.randn(size[0], generator=generator)
    return weights


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"likeLSTM": True},
        {"top_k": 3},
        {"top_k": 3, "gated": True},
        {"top_k": 7, "likeLSTM": True, "no_op": False},
        {"pop": False},
    ],
)
def test_the_options_of_the_program_are_those_that_its_file_implies(options: dict[str, object], tmp_path: Path) -> None:
    weights, path = file_of(options), tmp_path / "weights"
    torch.save(weights, path, _use_new_zipfile_serialization=False)
    model = open_model(path)
    tree = read_infix("sin(var_0 + 2)^2 * cos(var_0) + exp(sin(var_1*3)) + var_0")
    flat = batch([tree], model.cell.vocabulary)
    program = Program(weights, model.cell.stack_size)
    h, S = program(tree)
    states = propagate(flat, model.cell)
    torch.testing.assert_close(states["h"][0], h, rtol=0, atol=1e-6)
    torch.testing.assert_close(states["S"][0], S, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "shape", "error"),
    [
        ("Symbol.weight", (40, 4), r"Symbol\.weight is \(40, 4\) torch\.float32; it must be \(34, any\), floating"),
        ("Symbol.weight", (34,), r"it must be \(34, any\)"),
        ("Symbol.weight", (34, 0), r"it must be \(34, any\)"),
        ("bias", (), r"bias is \(\) torch\.float32; it must be \(1\), floating"),
        ("sin.o_linear.bias", (1,), r"sin\.o_linear\.bias is \(1,\) .* \(4\)"),
        ("Add.o_linear.weight", (4, 1), r"Add\.o_linear\.weight .* \(4, 8\)"),
        ("sin.pos_linear.weight", (), r"sin\.pos_linear\.weight .* \(any, 4\)"),
        ("cos.pos_linear.weight", (2, 4), r"cos\.pos_linear\.weight .* \(3, 4\)"),
    ],
)
def test_a_tensor_of_another_shape_is_named(name: str, shape: tuple[int, ...], error: str, tmp_path: Path) -> None:
    path = tmp_path / "weights"
    torch.save(file_of({"top_k": 3}) | {name: torch.zeros(shape)}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(ValueError, match=f"not the weights of a published .*{error}"):
        load_published(path)


def names_of_a_tree_rnn(n: int) -> dict[str, Tensor]:
    weights = {"Symbol.weight": torch.zeros(34, n), "bias": torch.zeros(1)}
    for function in (*UNARY, *BINARY):
        weights[f"{function}.linear.weight"] = torch.zeros(n, n * (1 + (function in BINARY)))
        weights[f"{function}.linear.bias"] = torch.zeros(n)
    return weights


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("sin.linear.bias", torch.ones(1)),
        ("Mul.linear.weight", torch.ones(1, 8)),
        ("Mul.linear.weight", torch.ones(4, 1)),
        ("cos.linear.bias", torch.ones(4, dtype=torch.complex64)),
        ("cos.linear.bias", torch.ones(4, dtype=torch.int64)),
    ],
)
def test_no_tensor_is_broadcast_or_cast_to_what_a_cell_has(name: str, tensor: Tensor, tmp_path: Path) -> None:
    path, weights = tmp_path / "weights", names_of_a_tree_rnn(4)
    torch.save(weights, path, _use_new_zipfile_serialization=False)
    assert type(load_published(path).cell) is TreeRNN
    torch.save(weights | {name: tensor}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(ValueError, match=f"{name} is .*, floating"):
        load_published(path)


def test_a_fault_of_ours_is_not_called_a_bad_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: object) -> None:
        raise KeyError("ours")

    path = tmp_path / "weights"
    torch.save(file_of({}), path, _use_new_zipfile_serialization=False)
    monkeypatch.setattr("dgltree.ranking.pretrained.EquationReadout", faulty)
    with pytest.raises(KeyError, match="ours"):
        load_published(path)


def test_names_that_are_not_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    torch.save(file_of({}) | {3: torch.zeros(1)}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(ValueError, match="not a dict of tensors by name"):
        load_published(path)


def test_a_model_without_classes_is_refused_without_naming_any(tmp_path: Path) -> None:
    vocabulary = Vocabulary([("f", 1)], ["x"])
    save(TreeModel(make_encoder("tree_lstm", vocabulary, 4), NumberReadout(4)), tmp_path / "model")
    with pytest.raises(ValueError, match=r"model reads no equations: use dgltree\.load$"):
        open_model(tmp_path / "model")


def test_a_tensor_for_which_there_is_no_place_is_named(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    torch.save(file_of({}) | {"sin.extra.weight": torch.zeros(2)}, path, _use_new_zipfile_serialization=False)
    with pytest.raises(
        ValueError,
        match=r"a TreeSMU has no use for sin\.extra\.weight, and would compute something else without these weights",
    ):
        load_published(path)
