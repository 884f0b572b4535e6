"""A function in a process of its own."""

import os
import time

from tasks.child import Child


def work(what: str) -> object:
    if what == "wait":
        time.sleep(60)
    if what == "fail":
        raise ValueError(what)
    if what == "die":
        os._exit(1)
    if what == "fill":
        return len(bytearray(3 << 30))
    return os.getpid()


def test_it_answers_and_is_replaced_when_it_cannot() -> None:
    child = Child(work, seconds=5.0, megabytes=2048)
    first = child.ask("")
    assert first not in (None, os.getpid())
    assert child.ask("fail") is None
    assert child.ask("fill") is None
    assert child.ask("") == first
    assert child.ask("die") is None
    assert child.ask("") not in (None, first)
    child.stop()


def test_it_is_replaced_when_the_time_is_up() -> None:
    child = Child(work, seconds=0.2)
    assert child.ask("wait") is None
    child.stop()
    child.stop()
