"""A property that is computed when it is first read holds no lock: a search gives way to other threads within one."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from dgltree.support.lazy import cached_property


class Searched:
    """Its property is computed until another thread lets it end."""

    begun = Event()
    may_end = Event()

    def __init__(self, waits: bool) -> None:
        self.waits, self.computed = waits, 0

    @cached_property
    def found(self) -> str:
        """What was found."""
        self.computed += 1
        self.begun.set()
        if self.waits and not self.may_end.wait(30):
            raise TimeoutError
        return "found"


def test_an_object_does_not_wait_for_the_same_property_of_another_one() -> None:
    with ThreadPoolExecutor(2) as pool:
        waiting = Searched(waits=True)
        first = pool.submit(lambda: waiting.found)
        try:
            assert Searched.begun.wait(30)
            other = Searched(waits=False)
            assert pool.submit(lambda: other.found).result(timeout=10) == "found"
            assert not first.done()
        finally:
            Searched.may_end.set()
        assert first.result(timeout=30) == "found"


def test_it_is_computed_once_and_can_be_set_and_forgotten() -> None:
    searched = Searched(waits=False)
    assert (searched.found, searched.found, searched.computed) == ("found", "found", 1)
    del searched.found
    assert (searched.found, searched.computed) == ("found", 2)
    searched.__dict__["found"] = "given"
    assert searched.found == "given"
    assert Searched.found.__doc__ == "What was found."
