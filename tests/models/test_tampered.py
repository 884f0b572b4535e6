"""Models that were changed under a right hash: each command refuses them in one line."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tampered import TREES, Content, answers, kinds, tampered, write

import dgltree
from dgltree import Vocabulary
from dgltree.commands.main import main
from dgltree.encoders import make_encoder
from dgltree.models import ClassifierReadout, TreeModel
from dgltree.training.folder import WEIGHTS
from dgltree.training.model_files import READING

KINDS = kinds()
FLAGS = "in a vocabulary, an arity must be a whole number or null, and unk and parts must be true or false"
WORDS = "each function of a vocabulary must be a list of a name (a string) and an arity"


def _header(name: str, value: Any) -> Callable[[Content], None]:
    return lambda content: content.header.update({name: value})


def _option(name: str, value: Any) -> Callable[[Content], None]:
    return lambda content: content.header["options"].update({name: value})


def _vocabulary(name: str, value: Any) -> Callable[[Content], None]:
    return lambda content: content.header["vocabulary"].update({name: value})


def _typed(name: str, dtype: torch.dtype) -> Callable[[Content], None]:
    return lambda content: content.tensors.update({name: content.tensors[name].to(dtype)})


def _all_typed(dtype: torch.dtype) -> Callable[[Content], None]:
    return lambda content: content.tensors.update({name: t.to(dtype) for name, t in content.tensors.items()})


def _no_classes(content: Content) -> None:
    content.header["classes"] = []


def changed(kind: str, change: Callable[[Content], None]) -> Content:
    content = copy.deepcopy(KINDS[kind].content)
    change(content)
    return content


KNOWN = "they must be one of float16, bfloat16, float32, float64"
BIAS, FIRST = "readout.layers.1.bias", "encoder.cell.embedding.weight"
REFUSED = [
    (_header("classes", [1, None, {}]), "a class is named 1; a name must be a string"),
    (_header("classes", ["a", "b", None]), "a class is named None; a name must be a string"),
    (_header("classes", ["a", "b", "a"]), "two classes are named 'a'; give each class a different name"),
    (_header("classes", "abc"), "its header has 'abc' as classes; it must be a list"),
    (_header("cell", ["x"]), "its header has ['x'] as cell; it must be a string"),
    (_header("options", [1]), "its header has [1] as options; it must be an object"),
    (_option("gated_top_k", None), "its option gated_top_k is None; it must be true or false"),
    (_option("pop", "no"), "its option pop is 'no'; it must be true or false"),
    (_option("typed", 0), "its option typed is 0; it must be true or false"),  # of the class that all cells derive from
    (_option("functions", None), "its option functions is None; it must be true or false"),
    (_no_classes, "the model predicts neither classes nor numbers, unlike a model of 'dgltree fit'"),
    (_all_typed(torch.complex64), f"the weights {FIRST!r} are complex64; {KNOWN}"),
    (_all_typed(torch.int64), f"the weights {FIRST!r} are int64; {KNOWN}"),
    (_typed(BIAS, torch.complex64), f"the weights {BIAS!r} are complex64; {KNOWN}"),
    (_typed(BIAS, torch.float64), f"the weights {FIRST!r} are float32, {BIAS!r} are float64; all must have one dtype"),
    (lambda content: content.tensors.clear(), "it has no weights"),
    (_vocabulary("tokens", "xyz"), "the tokens of a vocabulary must be a list of strings"),
    (_vocabulary("tokens", ["<unk>", 1, "x"]), "the tokens of a vocabulary must be a list of strings"),
    (_vocabulary("tokens", ["x", "y"]), "a vocabulary with unk must contain the token '<unk>'"),
    (_vocabulary("functions", [[None, 2]]), WORDS),
    (_vocabulary("functions", {"add": 2}), WORDS),
    (_vocabulary("functions", [["Add", True]]), FLAGS),
    (_vocabulary("parts", 1), FLAGS),
    (_header("vocabulary", 3), "its header has 3 as vocabulary; it must be an object"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_a_tampered_model_with_a_right_hash_is_refused_in_one_line(
    change: Callable[[Content], None], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(changed("classes", change), tmp_path)
    (tmp_path / "trees.tsv").write_text(TREES, encoding="utf-8")
    assert main(["predict", str(tmp_path), str(tmp_path / "trees.tsv")]) == 1
    assert capsys.readouterr() == ("", f"dgltree: {tmp_path / WEIGHTS}: {message}\n")


@pytest.mark.parametrize("dtype", [torch.complex64, torch.float64])
def test_a_language_model_with_a_weight_of_another_type_is_refused_in_one_line(
    dtype: torch.dtype, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(changed("words", _typed("bias", dtype)), tmp_path)
    (tmp_path / "text").write_text("the cat\n", encoding="utf-8")
    assert main(["parse", str(tmp_path / WEIGHTS), str(tmp_path / "text")]) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert "'bias' are " in err


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_line", 10**40), ("max_line", 10**18 + 1), ("notation", ["sst"]), ("keys", "a"), ("tree", 3)],
)
def test_a_tampered_way_of_reading_is_refused_in_one_line(
    name: str, value: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(changed("classes", lambda content: content.reading.update({name: value})), tmp_path)
    (tmp_path / "trees.tsv").write_text(TREES, encoding="utf-8")
    assert main(["predict", str(tmp_path), str(tmp_path / "trees.tsv")]) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert err.startswith(f"dgltree: {tmp_path / READING}: ")


@pytest.mark.parametrize("name", KINDS)
def test_a_tampered_model_is_refused_or_answers_as_it_says(name: str) -> None:
    kind = KINDS[name]
    assert answers(kind)(kind.content)
    found = set()

    @settings(max_examples=60, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def attack(data: st.DataObject) -> None:
        found.add(answers(kind)(data.draw(tampered(kind.content))))

    attack()
    assert False in found


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["a", 1], "a class is named 1; a name must be a string"),
        (["a", "a"], "two classes are named 'a'; give each class a different name"),
    ],
)
def test_what_would_not_be_read_again_is_not_written(classes: list[Any], message: str, tmp_path: Path) -> None:
    vocabulary = Vocabulary.from_trees([dgltree.read_infix("x + 1")])
    model = TreeModel(make_encoder("tree_rnn", vocabulary, 3), ClassifierReadout(3, 2), classes)
    with pytest.raises(ValueError) as raised:
        dgltree.save(model, tmp_path / "model")
    assert str(raised.value) == message
    model.classes = ("a", "b")
    model.readout.double()
    with pytest.raises(ValueError, match="all must have one dtype"):
        dgltree.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()
