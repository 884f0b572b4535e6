"""The twelve sets, and the four that were added later."""

from benchmarks.sets.names import Set
from benchmarks.sets.twelve import drawn_sets, equations, fresh_sets, icons, schemas, sources, treebanks

JSON = ("--notation", "json")
SETS = {
    "typed": Set(drawn_sets.typed, 1000),
    "invoices": Set(drawn_sets.invoices, 1000),
    "turns": Set(drawn_sets.turns, 1000),
    "parity": Set(drawn_sets.parity, 1000),
    "blanks": Set(equations.blanks, 1200, JSON, published=True),
    "prepositions": Set(treebanks.prepositions, 1200, published=True, suffix=".conllu"),
    "phrases": Set(treebanks.phrases, 1200, JSON, published=True),
    "exceptions": Set(sources.exceptions, 900),
    "javascript": Set(sources.javascript, 900, JSON),
    "shapes": Set(schemas.shapes, 1200),
    "documented": Set(schemas.documented, 1200),
    "icons": Set(icons.icons, 900),
}
FRESH = {
    "phylogenies": Set(fresh_sets.phylogenies, 1000, ("--notation", "newick")),
    "circuits": Set(fresh_sets.circuits, 1000),
    "satisfiable": Set(fresh_sets.satisfiable, 999),
    "decorated": Set(fresh_sets.decorated, 900),
}
"""List, splits and peers were committed before the first run, after the last change of a default."""
SETS |= FRESH
NUMBERS = {"invoices", "circuits"}
"""Whose labels are numbers."""
