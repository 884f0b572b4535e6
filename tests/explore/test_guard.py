"""What is refused before a room looks at it, and what the browser is told to refuse."""

from typing import Any

import pytest
from explore_page import COOKIE, HOST, TOKEN

READ = "/api/equation/read"
FIELDS = {"text": "x + _ = 2"}


def test_the_page_and_its_files_come_with_a_policy_without_inline_scripts(client: Any) -> None:
    for path in ("/", "/static/main.js", "/static/vendor/d3.min.js", "/api/models"):
        answer = client.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
    text = client.get("/").text
    assert "<style" not in text and "style=" not in text and "onclick" not in text
    assert text.count("<script") == text.count('<script src="static/')


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_host_is_refused(client: Any, host: str) -> None:
    answer = client.get("/", headers={"host": host})
    assert (answer.status_code, answer.text) == (403, "this server accepts only requests to its own address")


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_another_page_is_refused(client: Any, headers: dict[str, str]) -> None:
    assert client.post(READ, json=FIELDS, headers=headers).status_code == 403
    own = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    assert client.post(READ, json=FIELDS, headers=own).status_code == 200


def test_what_is_no_json_object_is_refused(client: Any) -> None:
    assert client.post(READ, content="text=x", headers={"content-type": "text/plain"}).status_code == 415
    for body, status in (("{", 400), ("[" * 50_000, 400), ("[]", 200), ('{"text": 3}', 200), ("{}", 200)):
        answer = client.post(READ, content=body, headers={"content-type": "application/json"})
        assert (answer.status_code, set(answer.json())) == (status, {"error"})
    assert client.get(READ).status_code == 405


def test_ten_megabytes_are_refused_and_not_kept(client: Any) -> None:
    answer = client.post(READ, json={"text": "x" * 10_000_000})
    assert (answer.status_code, answer.json()["error"]) == (413, "the request has more than 64 KB")
    parts = (b"x" * 100_000 for _ in range(100))
    assert client.post(READ, content=parts, headers={"content-type": "application/json"}).status_code == 413
    longest = client.post(READ, json={"text": "x" * 5000})
    assert (longest.status_code, longest.json()["error"]) == (200, "found 5,000 characters; the page takes up to 1,000")


@pytest.mark.parametrize("path", ["../setup.cfg", "..%2f..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "vendor/"])
def test_no_path_leads_out_of_the_pages_own_files(client: Any, path: str) -> None:
    assert client.get(f"/static/{path}").status_code == 404


def test_a_mistake_of_ours_is_told_in_the_terminal_alone(
    opened: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dgltree.explore import equation_room
    from dgltree.explore.app import make_app

    def fails(_: str) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(equation_room, "write_both", fails)
    made = type(client)(make_app(opened, [HOST], TOKEN), base_url=f"http://{HOST}", cookies=COOKIE)
    answer = made.post(READ, json=FIELDS)
    assert (answer.status_code, answer.json()) == (500, {"error": "dgltree failed; the terminal shows the error"})


@pytest.fixture(scope="module")
def app(opened: Any) -> Any:
    from dgltree.explore.app import make_app

    return make_app(opened, [HOST], TOKEN)


@pytest.fixture
def stranger(app: Any, client: Any) -> Any:
    """One who has no cookie."""
    return type(client)(app, base_url=f"http://{HOST}", follow_redirects=False)


@pytest.mark.parametrize(
    "path", ["/", "/api/models", "/static/main.js", "/none", "/?token=", "/?token=other", "/?token=é"]
)
@pytest.mark.parametrize("cookies", [{}, {"dgltree-8000": "other"}, {"dgltree-8001": TOKEN}, {"dgltree-8000": "é"}])
def test_who_has_no_token_sees_nothing(path: str, cookies: dict[str, str], stranger: Any) -> None:
    header = "; ".join(f"{name}={value}" for name, value in cookies.items()).encode()
    answer = stranger.get(path, headers={b"cookie": header} if header else {})
    said = "open this page at the address with the token, which the terminal shows"
    assert (answer.status_code, answer.text, answer.headers.get("set-cookie")) == (403, said, None)
    assert stranger.post(READ, json=FIELDS, params={"token": TOKEN}).status_code == 403


def test_the_address_with_the_token_gives_a_cookie_and_the_address_without_it(stranger: Any) -> None:
    answer = stranger.get("/", params={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert answer.headers["set-cookie"] == f"dgltree-8000={TOKEN}; HttpOnly; Path=/; SameSite=strict"
    assert stranger.get("/").text.startswith("<!doctype html>")
    assert stranger.post(READ, json=FIELDS).status_code == 200


def test_opened_from_a_file_the_page_itself_goes_on_so_that_the_browser_sends_the_cookie(stranger: Any) -> None:
    answer = stranger.get("/", params={"token": TOKEN}, headers={"sec-fetch-site": "cross-site"})
    assert (answer.status_code, 'content="0; url=/"' in answer.text) == (200, True)
    assert "dgltree-8000=" in answer.headers["set-cookie"]
    assert TOKEN not in answer.text
    assert stranger.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert stranger.get("/", headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_a_request_whose_body_is_not_read_ends_the_connection(client: Any, stranger: Any) -> None:
    json = {"content-type": "application/json"}
    said = client.post(READ, content=b"{}", headers={**json, "content-length": str(10**12)})
    assert (said.status_code, said.json()["error"]) == (413, "the request has more than 64 KB")
    assert said.headers["connection"] == "close"
    for answer in (stranger.post(READ, json=FIELDS), client.post("/none", json=FIELDS)):
        assert answer.headers["connection"] == "close"
    assert "connection" not in client.post(READ, json=FIELDS).headers
    assert "connection" not in client.get("/").headers


def test_the_workers_end_with_the_page(opened: Any, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dgltree.explore import app

    workers: list[app.Worker] = []

    class Kept(app.Worker):
        def __init__(self, name: str, seconds: float) -> None:
            super().__init__(name, seconds)
            self.name = name
            workers.append(self)

    class Judging(app.JudgingProcesses):
        def end(self) -> None:
            ended.append(self)
            super().end()

    ended: list[app.JudgingProcesses] = []
    monkeypatch.setattr(app, "Worker", Kept)
    monkeypatch.setattr(app, "JudgingProcesses", Judging)
    with type(client)(app.make_app(opened, [HOST], TOKEN), base_url=f"http://{HOST}", cookies=COOKIE) as made:
        assert made.post(READ, json=FIELDS).status_code == 200
        assert [(worker.name, worker.seconds) for worker in workers] == list(app.SECONDS.items())
        for worker in workers:
            worker.begin(lambda: None)
        assert not ended
        made.app.state.end()  # as a signal does
        assert len(ended) == 1
    for worker in workers:
        with pytest.raises(RuntimeError, match="cannot schedule new futures after shutdown"):
            worker.begin(lambda: None)
