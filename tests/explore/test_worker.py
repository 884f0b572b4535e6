"""One piece of work at a time, none for clients that are gone, and none that keeps the others waiting for ever."""

import asyncio
import time
from collections.abc import Callable
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the explore extra is not installed")
from dgltree.explore import endpoint
from dgltree.explore.endpoint import BUSY, GoneError, JudgingProcesses, Send, Stop, TurnedAwayError, Worker


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
    with pytest.raises(TurnedAwayError, match=r"stopped after 0\.05 s"):
        asyncio.run(Worker("test", 0.05).run(client(), lambda: time.sleep(0.3)))


def test_who_waits_too_long_is_told_that_the_page_is_busy() -> None:
    free = Event()

    async def main() -> list[Any]:
        worker = Worker("test", 1)
        first = asyncio.create_task(worker.run(client(), lambda: free.wait(0.6)))
        second = asyncio.create_task(worker.run(client(), lambda: free.wait(0.6)))
        third = asyncio.create_task(worker.run(client(), lambda: 3))
        return await asyncio.gather(first, second, third, return_exceptions=True)

    first, second, third = asyncio.run(main())
    assert (first, second, str(third)) == (False, False, BUSY)


def test_when_the_page_ends_nobody_waits_any_longer() -> None:
    free = Event()

    async def main() -> tuple[list[Any], float]:
        worker = Worker("test", 60)
        asked = [asyncio.create_task(worker.run(client(), lambda: free.wait(60))) for _ in range(3)]
        await asyncio.sleep(0.05)
        since = time.monotonic()
        worker.end()
        return await asyncio.gather(*asked, return_exceptions=True), time.monotonic() - since

    try:
        loop = asyncio.new_event_loop()
        answers, seconds = loop.run_until_complete(main())
        assert [str(one) for one in answers] == ["the page ends"] * 3
        assert seconds < 1
    finally:
        free.set()
        loop.close()


SLOW = {"text": "sin(x)^2 + s^2*x = _", "fillers": ["sqrt((sin(x)^2 + s^2*x)^2)"] * 2}
"""Its verdict takes seven seconds."""


def test_a_judgement_that_takes_too_long_is_ended_and_another_one_is_answered_meanwhile() -> None:
    async def main() -> tuple[Any, dict[str, Any], float, float]:
        processes = JudgingProcesses(4)
        try:
            await processes.run(client(), "verify", {"text": "x = x"})  # a process has begun
            since = time.monotonic()
            slow = asyncio.create_task(processes.run(client(), "own", {**SLOW, "filler": SLOW["fillers"][0]}))
            await asyncio.sleep(0.01)
            quick = await processes.run(client(), "verify", {"text": "x = x"})
            between = time.monotonic() - since
            [ended] = await asyncio.gather(slow, return_exceptions=True)
            return ended, quick, between, time.monotonic() - since
        finally:
            await processes.close()

    ended, quick, between, seconds = asyncio.run(main())
    assert quick["verdict"] == "holds everywhere (proved)"
    assert between < 2 < seconds < 8
    assert isinstance(ended, TurnedAwayError) and "stopped after 4 s" in str(ended)


def test_a_process_of_a_client_that_left_is_ended() -> None:
    class Leaving:
        asked = 0

        async def is_disconnected(self) -> bool:
            self.asked += 1
            return self.asked > 1

    async def main() -> float:
        processes = JudgingProcesses(30)
        try:
            since = time.monotonic()
            with pytest.raises(GoneError):
                await processes.run(Leaving(), "own", {**SLOW, "filler": SLOW["fillers"][0]})  # type: ignore[arg-type]
            assert (await processes.run(client(), "verify", {"text": "x = x"}))["holds"] is True
            return time.monotonic() - since
        finally:
            await processes.close()

    assert asyncio.run(main()) < 6


def test_a_process_that_was_killed_while_it_waited_is_replaced() -> None:
    async def main() -> dict[str, Any]:
        processes = JudgingProcesses(30)
        try:
            await processes.run(client(), "verify", {"text": "x = x"})
            for process in processes._ready:
                process.kill()
                await process.wait()
            return await processes.run(client(), "verify", {"text": "x = x"})
        finally:
            await processes.close()

    assert asyncio.run(main())["holds"] is True


def test_too_many_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "MOST_WAITING", 1)
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
