"""Memory that passes have done with: given to later ones, never to two at once, and bounded."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from dgltree.engine.compiled import spare_memory
from dgltree.engine.compiled.spare_memory import LEAST_BYTES, MOST_BYTES, give_back, take


@pytest.fixture(autouse=True)
def nothing_spare() -> Iterator[None]:
    before = spare_memory._spare[:]
    spare_memory._spare.clear()
    yield
    spare_memory._spare[:] = before


def test_memory_that_was_given_back_is_taken_again_if_it_fits() -> None:
    buffer = take(LEAST_BYTES * 3)
    give_back(buffer)
    assert take(LEAST_BYTES) is not buffer, "three times as much as is needed"
    assert take(LEAST_BYTES * 2) is buffer
    assert take(LEAST_BYTES * 2) is not buffer, "nobody has given it back"


def test_little_memory_is_not_kept_and_much_makes_room() -> None:
    give_back(take(LEAST_BYTES - 1))
    assert not spare_memory._spare
    buffers = [np.empty(MOST_BYTES // 4, np.uint8) for _ in range(6)]
    for buffer in buffers:
        give_back(buffer)
    assert [id(kept) for kept in spare_memory._spare] == [id(buffer) for buffer in buffers[2:]]
    give_back(np.empty(MOST_BYTES + 1, np.uint8))
    assert not spare_memory._spare


def test_no_two_threads_have_the_same_memory() -> None:
    wrong = []

    def work(number: int) -> None:
        for _ in range(300):
            buffer = take(LEAST_BYTES)
            buffer[:64] = number
            if (buffer[:64] != number).any():
                wrong.append(number)
            give_back(buffer)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
