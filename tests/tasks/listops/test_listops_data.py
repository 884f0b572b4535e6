"""ListOps: the published test file, own expressions, bad input, batches of similar lengths."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lightning", reason="the train extra is not installed")

from dgltree import Tree
from dgltree.read.bracket import read_unlabelled, write_unlabelled
from dgltree.read.listops import bracketed, read_words
from tasks.listops import generate
from tasks.listops.data import LENGTHS, ListOps, _up_to, data_of
from tasks.listops.files import Expression, read_expressions, write_expressions
from tasks.listops.language import tree

ROOT = Path(__file__).parents[3]
NESTED = "( ( ( ( [MAX 2 ) 9 ) ( ( ( [MIN 4 ) 7 ) ] ) ) ] )"


def by_recursion(words: list[str]) -> int:
    """What an expression is worth; takes its words from the front."""
    word = words.pop(0)
    if word.isdigit():
        return int(word)
    values = []
    while words[0] != "]":
        values.append(by_recursion(words))
    words.pop(0)
    values.sort()
    n = len(values)
    median = (values[(n - 1) // 2] + values[n // 2]) // 2
    return {"[MIN": values[0], "[MAX": values[-1], "[MED": median, "[SM": sum(values) % 10}[word]


@pytest.mark.data
def test_the_published_test_file_is_read(published: Path) -> None:
    expressions = read_expressions(published / "listops" / "test_d20s.tsv")
    lengths = [expression.length for expression in expressions]
    assert len({*expressions}) == 10_000
    assert (max(lengths), round(sum(lengths) / 10_000, 2)) == (939, 42.85)
    assert sum(length < 20 for length in lengths) == 5718


@pytest.mark.data
def test_the_published_test_file_is_not_trained_on(published: Path, tmp_path: Path) -> None:
    lines = (published / "listops" / "test_d20s.tsv").read_text(encoding="utf-8").splitlines()[::4]
    file = tmp_path / "test.tsv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = ListOps(test=file, count=1000)
    assert data.test == list(read_expressions(file))
    assert not {*data.train, *data.validation} & {*data.test}
    assert len(data.train) < 0.9 * 1000, "some short ones stand in the test file"


@pytest.fixture(scope="module")
def made() -> tuple[Expression, ...]:
    return generate.expressions(3000, seed=0)


def test_own_expressions_are_different_and_worth_what_they_say(made: tuple[Expression, ...]) -> None:
    assert len({expression.text for expression in made}) == 3000
    for text, value in made:
        assert by_recursion(text.split()) == value == read_words(text)[1]
        assert read_words(bracketed(text.split())) == (text.split(), value)
    assert {expression.value for expression in made} == {*range(10)}
    depths = [tree(expression.text.split()).depth for expression in made]
    assert max(depths) > 20, "a list of five places in another is binarised to several levels"


def test_lists_nest_nineteen_deep_at_most() -> None:
    deepest = 0
    for text, _ in generate.expressions(3000, seed=3):
        depth = 0
        for word in text.split():
            depth += word.startswith("[")
            deepest = max(deepest, depth)
            depth -= word == "]"
    assert 10 < deepest <= 19


def test_own_expressions_come_by_seed_and_a_larger_count_begins_with_a_smaller(made: tuple[Expression, ...]) -> None:
    generate.expressions.cache_clear()
    assert generate.expressions(1000, seed=0) == made[:1000]
    assert generate.expressions(1000, seed=1) != made[:1000]
    short = generate.expressions(1000, seed=0, longest=12)
    assert max(expression.length for expression in short) == 12


def test_more_expressions_than_there_are_is_an_error() -> None:
    assert len(generate.expressions(10, seed=0, longest=3)) == 10
    with pytest.raises(ValueError, match=r"found 10 expressions of up to 3 words; 11 are too many"):
        generate.expressions(11, seed=0, longest=3)
    with pytest.raises(ValueError, match="count is 0 and longest is None; both must be 1 or more"):
        generate.expressions(0, seed=0)


def test_an_expression_is_binarised_as_published() -> None:
    words, value = read_words(NESTED)
    assert (words, value) == (["[MAX", "2", "9", "[MIN", "4", "7", "]", "]"], 9)
    assert bracketed(words) == NESTED
    assert tree(words) == read_unlabelled(NESTED)
    assert tree(["7"]) == Tree("word", token="7")


@pytest.mark.parametrize(
    ("text", "value"),
    [("[MED 1 4 ]", 2), ("[MED 9 1 2 ]", 2), ("[MED 1 2 8 9 ]", 5), ("[SM 9 8 7 ]", 4), ("[MIN 3 1 ]", 1)],
)
def test_operators(text: str, value: int) -> None:
    assert read_words(text)[1] == value


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("9", r"file.tsv, line 2: found 1 fields; expected label and expression with a tab between"),
        ("9\t( ( ( [MAX 2 ) x ) ] )", r"line 2: word 3 without the brackets: found 'x'; expected one of \[MIN"),
        ("9\t( ( [MAX 2 ) 9 )", r"line 2: word 1 without the brackets: found no end of the list '\[MAX'; expected"),
        ("9\t( [MAX ] )", r"line 2: word 1 without the brackets: found nothing in the list '\[MAX'"),
        ("9\t]", r"line 2: word 1 without the brackets: found '\]' where no list is open"),
        ("9\t9 9", r"line 2: word 2 without the brackets: found '9' after the end of the expression"),
        ("9\t", r"line 2: found no words"),
        ("9\t[MAX 2 9 ]", r"line 2: the brackets are not those of the words; expected \( \( \( \[MAX 2 \) 9 \) \] \)"),
        ("2\t( ( ( [MAX 2 ) 9 ) ] )", r"line 2: found the label '2'; the expression is worth 9"),
    ],
)
def test_malformed_lines_are_refused_by_file_and_line(tmp_path: Path, line: str, error: str) -> None:
    file = tmp_path / "file.tsv"
    file.write_text(f"9\t{NESTED}\n{line}\n")
    with pytest.raises(ValueError, match=error):
        read_expressions(file)


def test_missing_and_empty_files_are_named(tmp_path: Path) -> None:
    file = tmp_path / "file.tsv"
    with pytest.raises(FileNotFoundError, match=r"file.tsv: no such file; expected lines such as 9 TAB"):
        read_expressions(file)
    file.touch()
    with pytest.raises(ValueError, match=r"file.tsv is empty; expected lines such as 9 TAB"):
        read_expressions(file)


def test_the_command_writes_a_file_that_is_read_back(tmp_path: Path, made: tuple[Expression, ...]) -> None:
    file = tmp_path / "own.tsv"
    command = [sys.executable, "-m", "tasks.listops.generate", "--out", str(file), "--count", "200"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.startswith("200 expressions of ")
    assert read_expressions(file) == made[:200]
    assert [path.name for path in tmp_path.iterdir()] == ["own.tsv"]
    data = ListOps(expressions=file, longest=30)
    assert {*data.train, *data.validation, *data.test} == {e for e in made[:200] if e.length <= 30}


def test_an_expression_has_a_tree_its_value_and_as_many_leaves_as_words() -> None:
    long = Expression(" ".join(["[MAX", *"123456789" * 3, "]"]), 9)
    data = data_of([Expression("[MAX 2 9 ]", 9), Expression("3", 3), long])
    assert data.labels == ["9", "3", "9"]
    assert data.leaves.tolist() == [4, 1, 29]
    assert [write_unlabelled(data[i][0]) for i in range(2)] == ["( ( ( [MAX 2 ) 9 ) ] )", "3"]


def test_an_expression_belongs_to_the_lowest_limit_that_is_not_below_its_length() -> None:
    """The last class has all that are longer, too."""
    for length in range(1, LENGTHS[-1] + 5):
        [*_, expected] = [limit for limit in reversed(LENGTHS) if limit >= length] or [LENGTHS[-1]]
        assert _up_to(length) == expected, length


def test_the_parts_do_not_overlap_and_a_larger_share_holds_a_smaller(tmp_path: Path) -> None:
    test = tmp_path / "test.tsv"
    write_expressions(test, generate.expressions(1000, seed=0)[::4])
    data = ListOps(count=1000)
    assert [len(part) for part in (data.train, data.validation, data.test)] == [900, 50, 50]
    assert len({*data.train, *data.validation, *data.test}) == 1000
    data = ListOps(test=test, count=1000)
    assert [len(part) for part in (data.train, data.validation, data.test)] == [675, 37, 250]
    assert not {*data.train, *data.validation} & {*data.test}
    half = ListOps(test=test, count=1000, train_share=0.5)
    assert {*half.train} < {*data.train}
    assert (len(half.train), half.validation, half.test) == (338, data.validation, data.test)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"train_share": 0.0}, "train_share is 0.0; it must be above 0 and at most 1"),
        ({"count": 19}, "19 expressions are left to train, validate and test on; expected 20 or more"),
    ],
)
def test_impossible_options_are_refused(options: dict, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        ListOps(**options).sets()
