"""XML and HTML as trees of elements."""

import random
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dgltree import Tree, TreeDataset
from dgltree.read.markup import read_html, read_xml

SMALL = '<p class="a">one <b>two</b></p>'
TREE = Tree("p", (Tree("@class", token="a"), Tree("#text", token="one"), Tree("b", token="two")))


def test_elements_attributes_and_texts() -> None:
    assert read_xml(SMALL) == TREE
    assert read_xml(f"<?xml version='1.0' encoding='latin-1'?>\n<!-- c -->{SMALL}<?pi x?>") == TREE
    assert read_xml("<a>\n <b/>\n <c> d\n e </c> f &lt;</a>") == Tree(
        "a", (Tree("b"), Tree("c", token="d e"), Tree("#text", token="f <"))
    )
    assert read_xml('<x:a xmlns:x="u" b=""/>') == Tree("x:a", (Tree("@xmlns:x", token="u"), Tree("@b")))
    assert read_xml("<a><text/>text</a>") == Tree("a", (Tree("text"), Tree("#text", token="text")))
    assert read_xml("<a><![CDATA[<b>]]></a>") == Tree("a", token="<b>")


def drawn(generator: random.Random, depth: int) -> str:
    inner = "".join(drawn(generator, depth - 1) for _ in range(generator.randrange(4))) if depth else ""
    text, tag = generator.choice(["", " ", "word", "a &amp; b"]), generator.choice("abc")
    attribute = generator.choice(["", " k='v'"])
    return f"<{tag}{attribute}>{text}{inner}{text}</{tag}>"


@pytest.mark.parametrize("seed", range(20))
def test_xml_has_the_elements_and_attributes_of_elementtree(seed: int) -> None:
    text = drawn(random.Random(seed), 5)
    elements = list(ElementTree.fromstring(text).iter())
    nodes = [node.function for node in read_xml(text).preorder()]
    assert [name for name in nodes if not name.startswith("@") and name != "#text"] == [each.tag for each in elements]
    assert sum(name.startswith("@") for name in nodes) == sum(len(each.attrib) for each in elements)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a>", "line 1, column 4: no element found"),
        ("<a>\n</b>", "line 2, column 3: mismatched tag"),
        ("<a/><b/>", "line 1, column 5: junk after document element"),
        ("x", "line 1, column 1: syntax error"),
        (
            '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
            "declares the entity 'b', which is not allowed; remove this declaration",
        ),
        ("<a>\ud800</a>", "expected text that UTF-8 can encode"),
        ("", "no element found"),
    ],
)
def test_what_is_no_xml_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_xml(text)


def test_entities_of_files_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with pytest.raises(ValueError, match="declares the entity"):
        read_xml(f'<!DOCTYPE a [<!ENTITY b SYSTEM "file://{secret}">]><a>&b;</a>')


@pytest.mark.parametrize("read", [read_xml, read_html])
def test_depth_is_no_limit(read) -> None:
    pytest.importorskip("lxml", reason="the markup extra is not installed")
    assert read("<div>" * 50_000 + "</div>" * 50_000).size >= 50_000


def test_html_is_completed_as_browsers_do() -> None:
    pytest.importorskip("lxml", reason="the markup extra is not installed")
    body = (TREE, Tree("p", (Tree("#text", token="three"), Tree("br"), Tree("#text", token="four"))))
    assert read_html("<p class=a>one <b>two</b><p>three<br>four<!-- c -->") == Tree("html", (Tree("body", body),))
    for text in ("", "no element", "<!-- c -->"):
        with pytest.raises(ValueError, match="expected HTML"):
            read_html(text)


def test_files_and_folders_of_markup(tmp_path: Path) -> None:
    pytest.importorskip("lxml", reason="the markup extra is not installed")
    for name in ("a/one.xml", "b/two.xml"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes("<?xml version='1.0' encoding='latin-1'?><é/>".encode("latin-1"))
    (tmp_path / "b" / "bad.xml").write_bytes(b"<a>\xff</a>")
    data = TreeDataset.from_file(tmp_path, cached=False)
    assert (data.labels, [tree for tree, _ in data]) == (["a", "b"], [Tree("é", token="é")] * 2)
    assert [
        (bad.file, "not in the declared encoding (UTF-8 if none is declared):" in bad.message) for bad in data.bad
    ] == [("b/bad.xml", True)]
    (tmp_path / "trees.mrg").write_text("(S (NP a) (VP b))")
    assert TreeDataset.from_file(tmp_path, cached=False).reading.notation == "treebank"
    for name, text, kind in (
        ("schema.rng", "<?xml version='1.0'?>\n<a>\n<b/>\n</a>\n", "a"),
        ("plain", "<a>\n<b/>\n</a>\n", "a"),
        ("page", "<!DOCTYPE html>\n<p>x", "html"),
    ):
        (tmp_path / name).write_text(text)
        [(tree, _)] = TreeDataset.from_file(tmp_path / name, cached=False)
        assert isinstance(tree, Tree)
        assert tree.function == kind
    lines = tmp_path / "lines.txt"
    lines.write_text("<s><np>the cat</np></s>\n" * 2)
    assert TreeDataset.from_file(lines).reading.notation == "xml"
