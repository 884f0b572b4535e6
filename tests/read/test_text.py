"""What all readers' errors have in common, and JSON without NaN."""

import json

import pytest

from dgltree.read.infix import read_infix
from dgltree.read.json_text import write_json
from dgltree.read.text import shown


def test_a_text_is_shown_on_one_printable_line() -> None:
    assert shown("a\tb\n\x1b[31m\x00\x85\u2028\ud800 é 木") == "a\\tb\\n\\x1b[31m\\x00\\x85\\u2028\\ud800 é 木"
    assert shown("a" * 50 + "b" * 50, longest=10) == "aaaaa ... bbbbb"


def test_an_error_quotes_only_so_much() -> None:
    with pytest.raises(ValueError, match="line 1, column 3") as error:
        read_infix("x " + "y" * 1_000_000)
    assert len(str(error.value)) < 600


def test_json_never_holds_what_json_does_not_have() -> None:
    nan, infinite = float("nan"), float("inf")
    value = {"a": nan, "b": [infinite, 1.5, (-infinite, "nan")], "c": {"d": nan}, "e": True}
    assert json.loads(write_json(value), parse_constant=None) == {
        "a": None,
        "b": [None, 1.5, [None, "nan"]],
        "c": {"d": None},
        "e": True,
    }
    assert "\n" in write_json(value, indent=1)
