"""SymPy in a process of its own: what it answers, and that nothing is waited for in vain."""

import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dgltree import read_equation, read_infix, write_infix
from dgltree.equations.algebra import server
from dgltree.equations.algebra.client import MAX_NODES, WAIT, Algebra
from dgltree.equations.expressions.textbook_order import textbook_order

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def algebra() -> Iterator[Algebra]:
    made = Algebra()
    yield made
    made.stop()


def written(trees: list) -> set[str]:
    return {write_infix(textbook_order(tree)) for tree in trees}


def test_forms_are_expanded_factored_and_simplified(algebra: Algebra) -> None:
    cube = algebra.forms(read_infix("(x + 1)^3"))
    assert written(cube["expanded"]) == {"x^3 + 3*x^2 + 3*x + 1"}
    assert written(algebra.forms(read_infix("x^4 - 1"))["factored"]) == {"(x - 1)*(x + 1)*(x^2 + 1)"}
    assert "x + 1" in written(algebra.forms(read_infix("(x^2 - 1)/(x - 1)"))["simplified"])
    assert "x/4" in written(algebra.forms(read_infix("0.25*x"))["simplified"])


def test_solutions_are_trees_and_the_complex_ones_come_last(algebra: Algebra) -> None:
    assert written(algebra.solutions(read_equation("_^2 - 5*_ + 6 = 0"))) == {"2", "3"}
    cubic = algebra.solutions(read_equation("_^3 + _ = 0"))
    assert [write_infix(tree) for tree in cubic[:1]] == ["0"]
    assert written(cubic) == {"0", "sqrt(-1)", "-sqrt(-1)"}


def test_what_sympy_cannot_do_has_no_answer(algebra: Algebra) -> None:
    assert algebra.solutions(read_equation("_ + sin(_) = x")) == []
    assert algebra.forms(read_infix("zeta(x)", functions=None)) == {}
    assert algebra.forms(read_infix(" + ".join(["x"] * MAX_NODES))) == {}
    assert algebra.forms(read_infix("x"), seconds=0) == {}


def test_forms_have_as_many_nodes_as_the_limit_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = read_infix("x^3 + 3*x + 1")
    for limit, found in ((tree.size, {"x^3 + 3*x + 1"}), (tree.size - 1, set())):
        monkeypatch.setattr(server, "MAX_FORM_NODES", limit)
        assert written(server.forms(tree)["expanded"]) == found


def test_a_question_that_takes_too_long_ends_the_process_and_the_next_is_answered(algebra: Algebra) -> None:
    algebra.forms(read_infix("x"))
    assert algebra.forms(read_infix("(x + y + z + w + 1)^60"), seconds=0.3) == {}
    assert "x + 1" in written(algebra.forms(read_infix("1 + x"))["expanded"])


def test_an_interrupted_question_does_not_answer_the_next(algebra: Algebra, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    algebra.forms(read_infix("x"))
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Algebra, "_line", interrupt)
        algebra.forms(read_infix("y + y"))
    assert written(algebra.forms(read_infix("z + z"))["simplified"]) == {"2*z"}


def test_the_process_ends_with_its_parent_and_imports_no_torch() -> None:
    code = (
        "from dgltree.equations.algebra.client import algebra; from dgltree import read_infix; import sys;"
        "algebra().forms(read_infix('x + x')); print(algebra()._process.pid, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    pid, torch = done.stdout.split()
    assert (done.stderr, torch) == ("", "False")
    alive = subprocess.run(["ps", "-p", pid], capture_output=True, check=False)
    assert alive.returncode == 1


def test_an_answer_is_waited_for_no_longer_than_the_search_has(
    algebra: Algebra, monkeypatch: pytest.MonkeyPatch
) -> None:
    algebra.forms(read_infix("x"))
    waited: list[float] = []
    line = Algebra._line

    def noted(self: Algebra, seconds: float) -> str:
        waited.append(seconds)
        return line(self, seconds)

    monkeypatch.setattr(Algebra, "_line", noted)
    for seconds, limit in ((2 * WAIT, WAIT), (WAIT / 2, WAIT / 2)):
        algebra.forms(read_infix("x + x"), seconds)
        assert waited[-1] == limit


SOLVE = """
import sys
from dgltree import read_equation, write_infix
from dgltree.equations.algebra.client import algebra
for _ in range(2):
    print(*sorted(map(write_infix, algebra().solutions(read_equation("_^2 - 5*_ + 6 = 0")))))
"""


def solved(before: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Two questions in a process of its own, after some lines."""
    code = [sys.executable, "-c", before + SOLVE]
    return subprocess.run(code, capture_output=True, text=True, timeout=900, check=False, **options)


def shadowed(folder: Path, module: str, text: str) -> dict[str, str]:
    """An environment in which a module is another one."""
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


def test_where_a_system_has_no_limits_of_its_own_sympy_answers(tmp_path: Path) -> None:
    gone = "import signal\nfor name in ('setitimer', 'alarm'):\n    vars(signal).pop(name, None)\n"
    gone += "raise ModuleNotFoundError(name='resource')\n"
    done = solved(env=shadowed(tmp_path, "resource", gone))
    assert (done.stdout, done.stderr) == ("2 3\n2 3\n", "")


def test_a_lower_limit_of_memory_that_is_there_already_is_kept() -> None:
    most = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))\n"
    done = solved(most, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert (done.stdout, done.stderr) == ("2 3\n2 3\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")
def test_answers_may_take_little_memory_besides_that_of_the_start(algebra: Algebra) -> None:
    algebra.forms(read_infix("x"))
    assert algebra._process is not None
    process = Path(f"/proc/{algebra._process.pid}")
    _, _, limit = (process / "limits").read_text().partition("Max address space")
    taken = int((process / "statm").read_text().split()[0]) * mmap.PAGESIZE
    assert taken < int(limit.split()[0]) < taken + 250e6


def test_sympy_is_asked_by_a_process_with_more_open_files_than_select_can_watch() -> None:
    many = (
        "import resource\n_, most = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 2048), most))\n"
        "opened = [open('/dev/null') for _ in range(1100)]\n"
    )
    done = solved(many)
    assert (done.stdout, done.stderr) == ("2 3\n2 3\n", "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise ImportError('no file libmpfr')", "ImportError no file libmpfr"),
        ("import os\nos._exit(3)", "its process ended with status 3"),
    ],
)
def test_where_sympy_cannot_be_run_one_line_says_so_and_it_is_not_asked_again(
    text: str, why: str, tmp_path: Path
) -> None:
    done = solved(env=shadowed(tmp_path, "sympy", text))
    assert done.stdout == "\n\n"
    [line] = [line for line in done.stderr.splitlines() if "Warning: " in line]
    assert line.endswith(f"SymPy cannot run here: {why}; solutions that need SymPy are missing")
