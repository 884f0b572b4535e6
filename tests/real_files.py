"""Files that other programs wrote, with the number of their nodes by a peer's own reader."""

import ast
import csv
import json
import os
import re
import sysconfig
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from dgltree import Tree, TreeDataset

CONSTANTS = ("int", "float", "complex", "str", "bytes", "bool", "ellipsis")
TOKENS_OF_RINGS = re.compile(r"\[[^\]]+\]|Br|Cl|[BCNOPSFIbcnops]")
"""The atoms in the SMILES of a ring."""


class RealFile(NamedTuple):
    """A file, who made it, and how it is counted."""

    place: str
    """A package, ``stdlib``, or ``data`` for the published data."""
    path: str
    """Below that."""
    made_by: str
    peer: str
    """The reader that it is compared with, and what that counts."""
    count: Callable[[Path], int]
    """By the peer."""
    ours: Callable[[Tree], int]
    """The same of a tree of ours."""
    left_out: str = "nothing"
    options: dict[str, Any] = {}  # noqa: RUF012  # never changed
    export: Callable[[Path], str] | None = None
    """What another program writes of the file, and we read; None: we read the file itself."""

    def located(self) -> Path | None:
        """Where it is here, None where it is not."""
        if self.place == "data":
            folder = os.environ.get("DGLTREE_DATA")
            found = Path(folder) / self.path if folder else None
        elif self.place == "stdlib":
            found = Path(sysconfig.get_path("stdlib")) / self.path
        else:
            spec = find_spec(self.place)
            found = Path(spec.origin).parent / self.path if spec and spec.origin else None
        return found if found is not None and found.exists() else None

    def read(self, path: Path) -> TreeDataset:
        """By us, without a hidden file."""
        if self.export is None:
            return TreeDataset.from_file(path, workers=0, cached=False, **self.options)
        with TemporaryDirectory() as folder:
            exported = Path(folder) / f"{path.stem}.json"
            exported.write_text(self.export(path), encoding="utf-8")
            return TreeDataset.from_file(exported, workers=0, cached=False, **self.options)

    def counted(self, path: Path) -> tuple[TreeDataset, int]:
        """What we read, and how much is in it."""
        data = self.read(path)
        return data, sum(self.ours(tree) for tree, _ in data if isinstance(tree, Tree))


def size(tree: Tree) -> int:
    return tree.size


def atoms(tree: Tree) -> int:
    """Heavy atoms of a molecule, those in rings included."""
    found = 0
    for node in tree.preorder():
        if node.function.endswith("ring"):
            found += len(TOKENS_OF_RINGS.findall(str(node.token)))
        elif node.function != "mixture":
            found += node.function.lstrip("=#~") != "H"
    return found


def elements(tree: Tree) -> int:
    """Elements of XML and HTML, without attributes and texts."""
    return sum(node.function != "#text" and not node.function.startswith("@") for node in tree.preorder())


def named(tree: Tree) -> int:
    """Nodes of a syntax tree with a type, whose names begin with a capital; not their fields."""
    return sum(node.function[0].isupper() for node in tree.preorder())


def python_nodes(tree: Tree) -> int:
    """The same of our own trees of Python, in which a constant is named after its type, and None is a gap."""
    return sum(
        (node.function[0].isupper() and node.function != "None") or node.function in CONSTANTS
        for node in tree.preorder()
    )


def by_nltk(path: Path) -> int:
    """Subtrees of all trees of a file or a folder; an empty bracket around a tree is none."""
    import nltk

    files = sorted(path.glob("*.mrg")) if path.is_dir() else [path]
    trees = (tree for file in files for tree in _bracketed(file.read_text(encoding="utf-8")))
    return sum(1 for tree in trees for node in nltk.Tree.fromstring(tree).subtrees() if node.label())


def _bracketed(text: str) -> Iterator[str]:
    depth = start = 0
    for match in re.finditer(r"[()]", text):
        if match[0] == "(":
            start = match.start() if not depth else start
            depth += 1
        else:
            depth -= 1
            if not depth:
                yield text[start : match.end()]


def by_conllu(path: Path) -> int:
    """Words, which multiword ranges and empty nodes are not."""
    from conllu import parse_incr

    with path.open(encoding="utf-8") as file:
        return sum(isinstance(word["id"], int) for sentence in parse_incr(file) for word in sentence)


def by_rdkit(column: str | None, skip: int = 0) -> Callable[[Path], int]:
    """Heavy atoms of the molecules that RDKit reads, in the first word of a line or in a column of a table."""

    def count(path: Path) -> int:
        from rdkit import Chem, rdBase

        rdBase.DisableLog("rdApp.*")
        with path.open(encoding="utf-8") as file:
            texts = (
                [line.split()[0] for line in file if line.strip()][skip:]
                if column is None
                else [row[column] for row in csv.DictReader(file)]
            )
        found = filter(None, map(Chem.MolFromSmiles, texts))
        return sum(atom.GetAtomicNum() != 1 for mol in found for atom in mol.GetAtoms())

    return count


def by_ast(path: Path) -> int:
    """Nodes of Python's own tree with a capital, without contexts."""
    nodes = ast.walk(ast.parse(path.read_bytes()))
    return sum(type(node).__name__[0].isupper() and not isinstance(node, ast.expr_context) for node in nodes)


def by_ast_and_numbers(path: Path) -> int:
    """The same, and whole numbers that are no nodes there and leaves here, such as the level of an import."""
    nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if not isinstance(node, ast.Constant)]
    numbers = sum(isinstance(getattr(node, field, None), int) for node in nodes for field in node._fields)
    return by_ast(path) + numbers


def by_esprima(path: Path) -> int:
    """Objects with a type that esprima's visitor sees."""
    import esprima

    seen = []

    class Visitor(esprima.visitor.Visitor):
        def visit_Object(self, node: Any) -> Any:  # noqa: N802 (esprima names it)
            seen.extend([node] if node.type else [])
            return (yield from super().visit_Object(node))

    Visitor().visit(esprima.parseScript(path.read_text(encoding="utf-8")))
    return len(seen)


def to_estree(path: Path) -> str:
    import esprima

    return json.dumps(esprima.parseScript(path.read_text(encoding="utf-8")).toDict(), default=str)


def to_ast_json(path: Path) -> str:
    import ast2json

    return json.dumps(ast2json.ast2json(ast.parse(path.read_bytes())))


def by_elementtree(path: Path) -> int:
    from xml.etree import ElementTree

    return len(list(ElementTree.parse(path).iter()))


def by_lxml(path: Path) -> int:
    from lxml import html

    root = html.document_fromstring(path.read_bytes())
    return sum(isinstance(node.tag, str) for node in root.iter())


NLTK, CONLLU, RDKIT = "nltk, subtrees", "conllu, words", "RDKit, heavy atoms"
ELEMENTTREE, LXML, AST = "ElementTree, elements", "lxml, elements", "ast, nodes"
RINGS = "bonds within rings, stereochemistry (documented)"
UD = "English Web Treebank, Universal Dependencies"
FILES = [
    *(
        RealFile("data", f"ud/ewt-{part}.conllu", UD, CONLLU, by_conllu, size, "ranges and empty nodes (documented)")
        for part in ("dev", "test", "train")
    ),
    RealFile("data", "language/treebank_sample", "Penn Treebank, 199 files", NLTK, by_nltk, size),
    RealFile("data", "language/wsj23_gold.txt", "PRPN's authors", NLTK, by_nltk, size),
    RealFile("data", "sst/dev.txt", "Stanford Sentiment Treebank", NLTK, by_nltk, size),
    RealFile("data", "sst/test.txt", "Stanford Sentiment Treebank", NLTK, by_nltk, size),
    RealFile("data", "evalb/sample.gld", "EVALB", NLTK, by_nltk, size),
    RealFile(
        "data",
        "evalb/sample.tst",
        "EVALB",
        NLTK,
        by_nltk,
        size,
        "the second of two trees on a line, and two empty lines (reported)",
    ),
    *(
        RealFile(
            "data",
            f"molecules/{name}.csv",
            "MoleculeNet",
            RDKIT,
            by_rdkit("smiles"),
            atoms,
            RINGS,
            {"tree": "smiles", "notation": "smiles"},
        )
        for name in ("bace", "esol", "freesolv")
    ),
    *(
        RealFile("rdkit", path, made_by, RDKIT, by_rdkit(None, skip), atoms, left_out)
        for path, made_by, skip, left_out in (
            ("Contrib/FreeWilson/data/CHEMBL2321810.smi", "ChEMBL", 0, RINGS),
            ("Contrib/Fastcluster/testdata/converted.smi", "RDKit", 1, f"the header (reported); {RINGS}"),
            ("Contrib/fraggle/data/ChEMBL_11265_actives.smi", "ChEMBL", 0, RINGS),
            ("Contrib/mmpa/data/sample.smi", "RDKit", 0, RINGS),
            ("Data/NCI/first_5K.smi", "NCI", 0, f"what RDKit cannot read (reported); {RINGS}"),
        )
    ),
    *(
        RealFile(
            "matplotlib",
            f"backends/web_backend/js/{name}.js",
            "esprima",
            "esprima",
            by_esprima,
            named,
            export=to_estree,
        )
        for name in ("mpl", "nbagg_mpl", "mpl_tornado")
    ),
    RealFile("stdlib", "argparse.py", "CPython", AST, by_ast_and_numbers, python_nodes, "contexts (documented)"),
    RealFile(
        "networkx", "classes/digraph.py", "networkx", AST, by_ast_and_numbers, python_nodes, "contexts (documented)"
    ),
    RealFile("stdlib", "copy.py", "ast2json", AST, by_ast, named, "contexts (documented)", export=to_ast_json),
    RealFile("stdlib", "json/decoder.py", "ast2json", AST, by_ast, named, "contexts (documented)", export=to_ast_json),
    *(
        RealFile(place, path, made_by, ELEMENTTREE, by_elementtree, elements, "comments (documented)")
        for place, path, made_by in (
            ("lxml", "isoschematron/resources/rng/iso-schematron.rng", "RELAX NG"),
            ("lxml", "isoschematron/resources/xsl/XSD2Schtrn.xsl", "XSLT"),
            ("lxml", "isoschematron/resources/xsl/RNG2Schtrn.xsl", "XSLT"),
            ("mypy", "xml/mypy.xsd", "XML Schema"),
        )
    ),
    *(
        RealFile(place, path, made_by, LXML, by_lxml, elements, "comments (documented)")
        for place, path, made_by in (
            ("matplotlib", "backends/web_backend/all_figures.html", "Tornado's templates"),
            ("matplotlib", "backends/web_backend/single_figure.html", "Tornado's templates"),
            ("importlinter", "ui/static/index.html", "import-linter"),
        )
    ),
]
"""Each with a peer that reads it."""
