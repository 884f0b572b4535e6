"""Source code of C, C++, Java and JavaScript as trees."""

import re
import sys
from importlib.util import find_spec

import pytest

import dgltree
from dgltree.commands.main import main
from dgltree.datasets.describe import describe
from dgltree.read import code
from dgltree.read.code import LANGUAGES, iter_functions, read_code
from dgltree.read.notations import NOTATIONS
from dgltree.read.text import brief
from dgltree.trees.tree import Tree

PACKAGES = ("tree_sitter", *(f"tree_sitter_{language}" for language in LANGUAGES if language != "cpp"))
pytestmark = pytest.mark.skipif(not all(map(find_spec, PACKAGES)), reason="the code extra is not installed")
CPP = pytest.mark.skipif(find_spec("tree_sitter_cpp") is None, reason="tree-sitter-cpp is not installed")
"""Of tests of C++, whose grammar came to the extra later than the others."""

WHOLE = {
    "c": [
        "int f(int x) { /* c */ return x + 1; }",
        "static int a[3] = {1, 2, 3};",
        "void g(void) { p->q = *r; i++; }",
        '#include <stdio.h>\n#define N 10\nint main(void) { printf("%d\\n", N); return 0; }',
        "struct point { int x, y; } origin;",
        "typedef unsigned long size; enum colour { RED, GREEN = 3 };",
        "int max(int a, int b) { return a > b ? a : b; }",
        "void h(char *s) { while (*s) if (*s++ == 'a') continue; else break; }",
        "int s(int n) { int t = 0; for (int i = 0; i < n; i++) t += i; return t; }",
        "int k(int x) { switch (x) { case 1: return 2; default: goto end; } end: return -x; }",
    ],
    "cpp": [
        "namespace n { template <class T> T f(const T& x) { /* c */ return x + 1; } }",
        "class A : public B { public: A() : x(1) {} virtual ~A() = default; private: int x; };",
        "std::vector<int> v = n::f<int>(1);",
        "auto g = [&](int y) -> int { return y; };",
        "void h() { for (const auto& x : xs) try { y(x); } catch (...) { throw; } }",
    ],
    "java": [
        "class A { int f(int x) { return x + 1; } }",
        "public final class A<T> { @Override private static int f(int... x) throws E { i--; return new B(x)[0]; } }",
        "interface Shape { double area(); }",
        "enum Colour { RED, GREEN; }",
        "class L { void f() { for (String s : names) System.out.println(s); } }",
        "class L { Runnable r = () -> { run(1L, 'c', null); }; }",
        "class T { void f() { try { g(); } catch (Exception e) { throw e; } finally { h(); } } }",
        "import java.util.List;\nrecord P(int x, int y) {}",
        "class S { int f(Object o) { return o instanceof String s ? s.length() : 0; } }",
        "class W { void f() { do { i += 2; } while (i < 10 && !done); } }",
    ],
    "javascript": [
        "const f = x => x + 1;",
        "const f = async (a) => `q ${a} c` + 'x'; // hi",
        "class A extends B { static get x() { return this.y; } #z = 1; }",
        "function* g(n) { for (let i = 0; i < n; i++) yield i; }",
        "let {a, b: [c, ...d]} = {...o, [k]: 1};",
        "export default async function main() { await Promise.all(xs.map(f)); }",
        "if (a === b) { c(); } else if (!d) { delete e.f; }",
        "try { x?.y ?? z } catch { throw new Error('no') }",
        "const r = /a+/g, n = 0x1F, u = undefined;",
        "for (const k of Object.keys(o)) switch (k) { case 'a': break; }",
    ],
}
BROKEN = {
    "c": ["int g( { if x", "int x = "],
    "cpp": ["class A { int f( { return", "template <class> int x = "],
    "java": ["class A { int f( { return", "void f() { int x = 1 }"],
    "javascript": ["function f() { return", "let = = 3"],
}


def of_each(texts):
    """Languages and texts as parameters of a test."""
    marks = {"cpp": CPP}
    return [pytest.param(name, text, marks=marks.get(name, ())) for name in texts for text in texts[name]]


def inner(tree: Tree) -> set[str]:
    return {node.function for node in tree.preorder()}


@pytest.mark.parametrize(("language", "source"), of_each(WHOLE))
def test_code_that_parses_is_read_without_errors_and_comments(language, source):
    functions = inner(NOTATIONS[language].read(source))
    assert not functions & {"ERROR", "MISSING", "comment", "line_comment", "block_comment"}
    assert len(functions) > 3


@pytest.mark.parametrize(("language", "source"), of_each(BROKEN))
def test_broken_code_is_kept_below_nodes_of_errors(language, source):
    assert inner(read_code(source, language)) & {"ERROR", "MISSING"}


def test_a_function_of_c_is_this_tree():
    assert brief(read_code("int f(int x) { return x + 1; }", "c").children[0].children[2]) == (
        "(compound_statement (return_statement (binary_expression x + 1)))"
    )
    minus = Tree(
        "binary_expression", [Tree("identifier", token="x"), Tree("-", token="-"), Tree("identifier", token="y")]
    )
    assert read_code("x - y;", "javascript") == Tree("program", [Tree("expression_statement", [minus])])


@pytest.mark.parametrize(
    "change", [("+", "-"), ("i++", "i--"), ("static", "public"), ("int f", "long f"), ("1L", "2L")]
)
def test_a_change_of_an_operator_a_modifier_a_type_or_a_number_changes_the_tree(change):
    source = "class A { static int f(int x) { i++; return x + 1L; } }"
    assert read_code(source, "java") != read_code(source.replace(*change, 1), "java")


@pytest.mark.parametrize("source", ["", " \n", "// a\n/* b */"])
def test_a_text_without_code_is_refused(source):
    with pytest.raises(ValueError, match=r"^found no code; expected c source$"):
        read_code(source, "c")


def test_deep_code_is_read_without_recursion():
    assert read_code("int x = " + "(" * 5000 + "1" + ")" * 5000 + ";", "c").depth == 5003


@pytest.mark.parametrize(
    ("suffix", "language"),
    [(".c", "c"), pytest.param(".cc", "cpp", marks=CPP), (".java", "java"), (".js", "javascript")],
)
def test_a_folder_of_sources_is_read_in_its_notation_with_the_folders_as_labels(tmp_path, suffix, language):
    for label, text in zip(("one", "two"), WHOLE[language][:2], strict=True):
        (tmp_path / label).mkdir()
        (tmp_path / label / f"a{suffix}").write_text(text)
    (tmp_path / "two" / f"empty{suffix}").write_text("")
    data = dgltree.TreeDataset.from_file(tmp_path, label_from="folder", cached=False)
    assert data.reading.notation == language
    assert [data[i] for i in range(2)] == [
        (read_code(WHOLE[language][0], language), "one"),
        (read_code(WHOLE[language][1], language), "two"),
    ]
    assert [(bad.file, bad.message) for bad in data.bad] == [
        (f"two/empty{suffix}", f"found no code; expected {language} source")
    ]
    functions = dgltree.TreeDataset.from_file(tmp_path, unit="function", label_from="folder", cached=False)
    texts = dict(zip(("one", "two"), WHOLE[language][:2], strict=True))
    found = [(f"{label}/a{suffix}", *each) for label in texts for each in iter_functions(texts[label], language)]
    assert found and functions.ids == [f"{file}:{line}:{name}" for file, name, line, _ in found]
    assert [functions[i] for i in range(len(found))] == [(tree, file[:3]) for file, _, _, tree in found]


@CPP
def test_headers_are_read_with_the_files_of_c_plus_plus_and_left_aside_next_to_others(tmp_path):
    (tmp_path / "a.h").write_text("struct A { int f(); };")
    assert dgltree.TreeDataset.from_file(tmp_path, cached=False).reading.notation == "cpp"
    (tmp_path / "a.c").write_text("int f(void) { return 1; }")
    data = dgltree.TreeDataset.from_file(tmp_path, cached=False)
    assert (len(data), data.reading.notation) == (1, "c")
    (tmp_path / "b.hpp").write_text("class B {};")
    with pytest.raises(
        ValueError, match=r"several kinds of files, \.c and \.cpp/\.cc/\.hpp/\.h; give a folder with one"
    ):
        dgltree.TreeDataset.from_file(tmp_path, cached=False)
    (tmp_path / "a.c").unlink()
    assert len(dgltree.TreeDataset.from_file(tmp_path, cached=False)) == 2


@CPP
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_source_file_is_read_in_the_encoding_that_its_first_bytes_say(encoding, tmp_path):
    source = "int f(int x)\r\n{\r\n  return x + 1; // \u00fc\r\n}\r\n"
    (tmp_path / "a.cpp").write_bytes(source.encode(encoding))
    [(tree, _)] = dgltree.TreeDataset.from_file(tmp_path, cached=False)
    assert tree == read_code(source, "cpp")


@CPP
def test_a_description_says_how_much_code_does_not_parse(tmp_path):
    for name, source in {"a": "int f() { return 1; }", "b": "int f( {", "c": "int g() { return 1 }"}.items():
        (tmp_path / f"{name}.cpp").write_text(source)
    data = dgltree.TreeDataset.from_file(tmp_path, cached=False)
    assert "\n2 trees (67%) contain code that does not parse, below ERROR or MISSING\n" in describe(data, 2)
    assert "does not parse" not in describe(data.select([0]), 2)


def test_a_grammar_that_is_not_installed_is_named_with_how_to_install_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tree_sitter_cpp", None)
    code._parser.cache_clear()
    (tmp_path / "a.cpp").write_text("int f() { return 1; }")
    assert main(["inspect", str(tmp_path)]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert re.search(r"tree_sitter_cpp.*; install it with: pip install .*tree.sitter.cpp", line)


FUNCTIONS = {
    "c": (
        "int f(int x) { return x; }\n\nchar *g(void) { return 0; }\nint (*h(int n))(int) { return f; }\nint p;\n",
        [("f", 1), ("g", 3), ("h", 4)],
    ),
    "cpp": (
        "class A {\n A() {}\n ~A() {}\n bool operator==(A& o) { return 1; }\n int& g();\n operator int() { return 1; }"
        "\n};\nint& A::g() { return x; }\nnamespace n { template <class T> T m(T x) { return x; } }\n"
        "class EXPORTED B { int k() { return 1; } };\n",
        [("A.A", 2), ("A.~A", 3), ("A.operator==", 4), ("A.operator int()", 6), ("A.g", 8), ("n.m", 9), ("B.k", 10)],
    ),
    "java": (
        "class A {\n A() {}\n int f(int x) { run(() -> 1); return x; }\n class B { void g() {} }\n}\n"
        "interface I { default void h() {} }\nrecord P(int x) { P { } }\n",
        [("A.A", 2), ("A.f", 3), ("B.g", 4), ("I.h", 6), ("P.P", 7)],
    ),
    "javascript": (
        "const f = x => x + 1;\nfunction g() { xs.map(x => x); function h() {} }\nclass A { m() {} #z = () => 1 }\n"
        "o.p = async function () {};\nvar q = { r() {}, s: function* () {}, t: 1 };\nf(function u() {});\n",
        [("f", 1), ("g", 2), ("g.h", 2), ("A.m", 3), ("A.#z", 3), ("o.p", 4), ("r", 5), ("s", 5), ("u", 6)],
    ),
}


@pytest.mark.parametrize("language", [pytest.param(name, marks=CPP if name == "cpp" else ()) for name in FUNCTIONS])
def test_functions_have_the_names_and_lines_of_the_text_and_the_trees_of_their_own_text(language):
    source, expected = FUNCTIONS[language]
    found = list(iter_functions(source, language))
    assert [(name, line) for name, line, _ in found] == expected
    whole = list(read_code(source, language).preorder())
    assert all(tree in whole for _, _, tree in found)
    if language == "c":
        assert found[1][2] == read_code(source.splitlines()[2], language).children[0]


@pytest.mark.parametrize(
    ("language", "source", "names"),
    [
        ("c", "int f(int x) { return x + ; }\nint g( { if\nint h(void) { return 1; }", {"f"}),
        ("java", "class A { int f() { return (; } void g() { int x = 1 } }", {"A.f", "A.g"}),
        ("javascript", "function f() { return (; }\nlet = = 3;\nfunction g() { return 1 }", {"f", "g"}),
    ],
)
def test_functions_of_broken_code_are_found_with_their_errors(language, source, names):
    found = {name: tree for name, _, tree in iter_functions(source, language)}
    assert names <= found.keys()
    assert any(inner(tree) & {"ERROR", "MISSING"} for tree in found.values())


def test_functions_that_nest_deeply_are_read_without_recursion_and_have_short_names():
    source = "function f() {" * 2000 + "}" * 2000
    found = list(iter_functions(source, "javascript"))
    assert [name for name, _, _ in found] == ["f", *["f.f"] * 1999]
