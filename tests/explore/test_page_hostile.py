"""What a page, a file or a client should not be able to do, and what happens when the server is killed."""

import json
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from explore_page import Running, look_inside
from own_trees import QUIET

pytestmark = [pytest.mark.browser, *QUIET]
HOSTILE = "<img src=x onerror=hacked=1><script>hacked=1</script>"
UNHARMED = "window.hacked === undefined && document.querySelectorAll('main img, main script').length === 0"


def post(running: Running, path: str, fields: Any) -> Any:
    [(name, token)] = running.cookie.items()
    headers = {"content-type": "application/json", "cookie": f"{name}={token}"}
    request = Request(f"{running.site}/api/{path}", json.dumps(fields).encode(), headers)
    with urlopen(request, timeout=900) as answer:
        return json.loads(answer.read())


@pytest.fixture(scope="module")
def hostile(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A model whose folder, trees, ids and labels are HTML."""
    folder = tmp_path_factory.mktemp("hostile")
    model = folder / HOSTILE.replace("/", "")
    shutil.copytree(fitted / "model", model)
    lines = (fitted / "trees.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines[1:120]]
    text = "".join(f"{HOSTILE}{i}\t{tree}\t{HOSTILE if i % 2 else label}\n" for i, tree, label in rows_of(rows))
    (folder / "<b>trees.tsv").write_text(f"id\ttree\tlabel\n{text}", encoding="utf-8")
    made = Running(str(model), "--trees", str(folder / "<b>trees.tsv"))
    yield made
    made.end()


def rows_of(rows: list[list[str]]) -> list[tuple[int, str, str]]:
    return [(number, tree, label) for number, (_, tree, label) in enumerate(rows)]


def test_names_ids_and_labels_of_files_never_become_html(page: Any, hostile: Running) -> None:
    page.goto(f"{hostile.url}#trees")
    page.get_by_role("heading", name="Worst mistakes").wait_for()
    page.locator(".map .plane path").first.wait_for()
    assert HOSTILE in page.get_by_role("region", name="Examples").inner_text()
    assert HOSTILE.replace("/", "") in page.get_by_role("region", name="The model").inner_text()
    page.locator(".confusion tbody th", has_text="none of these").wait_for()
    assert page.evaluate(UNHARMED)


@pytest.mark.parametrize(
    ("room", "typed"),
    [
        ("equation", "x_<b>hi</b> + _ = 1"),
        ("sequence", "a and <b>b</b>"),
        ("batch", '{"label": "<img src=x onerror=hacked=1>"}'),
    ],
)
def test_what_is_typed_or_linked_never_becomes_html(page: Any, running: Running, room: str, typed: str) -> None:
    linked = "&".join(f"{name}={quote(HOSTILE)}" for name in ("text", "filler", "other", "model"))
    page.goto(f"{running.url}#{room}?{linked}")
    page.locator(".wrong", has_text="line 1").wait_for()
    assert page.evaluate(UNHARMED)
    page.locator(f"#{room}-text").fill(typed)
    page.locator(".node", has_text="<img").or_(page.locator(".wrong", has_text=re.compile("'<'|'b'"))).first.wait_for()
    assert page.evaluate(UNHARMED)


def test_a_latex_command_cannot_load_or_link_anything(page: Any, running: Running) -> None:
    linked = quote("\\href{javascript:hacked=1}{x} + _ = 1")
    page.goto(f"{running.url}#equation?text={linked}")
    page.locator("#equation-wrong", has_text="line 1").wait_for()
    assert page.locator("main .shown a").count() == 0


def test_the_file_that_opens_the_browser_leads_to_the_page_without_the_token(page: Any, running: Running) -> None:
    from dgltree.explore.app import _launcher  # needs the explore extra, as the running page does

    with _launcher(running.url) as file:
        page.goto(file.as_uri())
        page.wait_for_url(f"{running.site}/*")
        page.locator("#equation-text").wait_for()
    assert running.token not in page.url
    page.goto(f"{running.site}/#batch")
    page.get_by_role("heading", level=1).first.wait_for()


def test_a_browser_without_the_token_is_told_where_it_is(page: Any, running: Running) -> None:
    page.expected = "status of 403"  # which the browser itself reports, of the page and of its icon, at any time later
    answer = page.goto(f"{running.site}/")
    assert answer.status == 403
    assert "open this page at the address with the token, which the terminal shows" in page.locator("body").inner_text()


def test_ten_clients_at_once_get_their_own_answers(running: Running) -> None:
    numbers = range(2, 12)

    def both(n: int) -> tuple[str, int]:
        read = post(running, "equation/read", {"text": f"x + {n} = _"})
        ranked = post(running, "equation/rank", {"text": f"{n}*x = _*{n}", "model": "default"})
        return read["text"], len(ranked["fillers"])

    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(both, numbers)) == [(f"x + {n} = _", 12) for n in numbers]


def test_ten_megabytes_and_a_search_that_nobody_reads_do_not_stop_it(running: Running) -> None:
    import httpx

    with httpx.Client(base_url=running.site, cookies=running.cookie, timeout=900) as client:
        assert client.post("/api/equation/read", json={"text": "x" * 10_000_000}).status_code == 413
        hard = {"text": "_*x = sin(x)*exp(y)*cos(x + y)^3*log(x)*tan(z)^5"}
        for _ in range(3):
            with client.stream("POST", "/api/equation/search", json=hard) as answer:
                assert answer.status_code == 200  # and we are gone
        found = client.post("/api/equation/search", json={"text": "x + _ = 2"}).text
    assert '"done": true' in found


def test_a_killed_server_is_told_and_the_page_goes_on_when_it_is_back(chromium: Any) -> None:
    first = Running()
    page = chromium.new_context().new_page()
    page.goto(f"{first.url}#equation?text=x+%2B+_+%3D+2")
    look_inside(page)
    page.locator(".inside .strips").wait_for()
    first.end()
    page.locator("#equation-text").fill("y + _ = 3")
    page.get_by_role("alert").filter(has_text="does not respond").wait_for()
    second = Running(port=first.port)
    page.context.new_page().goto(second.url)
    page.get_by_role("alert").filter(has_text="does not respond").wait_for(state="hidden", timeout=60_000)
    page.locator(".shown", has_text="y").wait_for()
    page.locator("#equation-text").fill("z + _ = 3")
    page.locator(".list tr[data-filler]").first.wait_for()
    page.close()
    second.end()
