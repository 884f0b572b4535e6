"""One piece of work at a time, none for clients that are gone, and none that keeps the others waiting for ever."""

import asyncio
import time
from collections.abc import Callable
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the explore extra is not installed")
from dgltree.explore import endpoint as module
from dgltree.explore.endpoint import GoneError, Send, Stop, TurnedAwayError, Worker


def client(gone: bool = False) -> Any:
    async def is_disconnected() -> bool:
        return gone

    return SimpleNamespace(is_disconnected=is_disconnected)


def test_work_is_done_in_order_and_its_errors_are_passed_on() -> None:
    done: list[int] = []

    def work(number: int) -> Callable[[], int]:
        return lambda: (done.append(number), number)[1]

    async def main() -> list[int]:
        worker = Worker("test", 5)
        return await asyncio.gather(*(worker.run(client(), work(number)) for number in range(5)))

    assert asyncio.run(main()) == done == list(range(5))
    with pytest.raises(ZeroDivisionError):
        asyncio.run(Worker("test", 5).run(client(), lambda: 1 // 0))


def test_a_client_that_is_gone_costs_nothing() -> None:
    done: list[int] = []
    with pytest.raises(GoneError):
        asyncio.run(Worker("test", 5).run(client(gone=True), lambda: done.append(1)))
    assert done == []


def test_what_takes_too_long_is_told_so() -> None:
    with pytest.raises(TurnedAwayError, match=r"more than 0\.05 s"):
        asyncio.run(Worker("test", 0.05).run(client(), lambda: time.sleep(0.3)))


def test_too_many_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 1)
    free = Event()

    async def main() -> list[Any]:
        worker = Worker("test", 5)
        asked = [asyncio.create_task(worker.run(client(), free.wait)) for _ in range(4)]
        await asyncio.sleep(0.05)
        free.set()
        return await asyncio.gather(*asked, return_exceptions=True)

    found = asyncio.run(main())
    assert found[0] is True
    assert sum(isinstance(one, TurnedAwayError) for one in found) in (2, 3)


def test_a_stream_whose_reader_leaves_is_told_to_stop() -> None:
    stopped = Event()

    def counts(send: Send, stop: Stop) -> None:
        number = 0
        while not stop():
            send({"number": (number := number + 1)})
            time.sleep(0.001)
        stopped.set()

    async def main() -> int:
        worker = Worker("test", 5)
        pieces = worker.stream(counts)
        async for piece in pieces:
            if piece["number"] == 3:
                break
        await pieces.aclose()
        return await worker.run(client(), lambda: 7)

    assert asyncio.run(main()) == 7
    assert stopped.is_set()


def test_a_stream_ends_when_its_time_is_over_and_tells_its_errors() -> None:
    def waits(send: Send, stop: Stop) -> None:
        while not stop():
            time.sleep(0.001)
        raise ValueError("too late")

    async def main() -> list[dict[str, Any]]:
        return [piece async for piece in Worker("test", 0.05).stream(waits)]

    assert asyncio.run(main()) == [{"error": "too late"}]
