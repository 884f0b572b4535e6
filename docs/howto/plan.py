"""Answers of an exported model by numpy and onnxruntime alone: python plan.py FOLDER < trees.txt, an example a line."""

import json
import re
import sys
from itertools import groupby
from pathlib import Path

import numpy as np
import onnxruntime

SYMBOL = re.compile(r'\(\s*([^\s()";]*)|(\))|([^\s()";]+)|"((?:[^"\\]|\\.)*)"|(\S)')
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_sexpr(text):
    """Return the nodes of an s-expression, children before parents: (function, token or None, numbers of children)."""
    nodes, lists = [], [("", [])]
    for found in SYMBOL.finditer(text):
        head, close, atom, string, wrong = found.groups()
        if head is not None:
            lists.append((head, []))
            continue
        if wrong or (close and len(lists) == 1):
            raise ValueError(f"character {found.start() + 1} of {text!r:.60} is one too many")
        if close:
            function, children = lists.pop()
            nodes.append((function or "list", None, children))
        else:
            nodes.append(("atom", atom, []) if atom else ("string", re.sub(r'\\(["\\])', r"\1", string), []))
        lists[-1][1].append(len(nodes) - 1)
    if len(lists) > 1 or len(lists[0][1]) != 1:
        raise ValueError(f"{text!r:.60} is not one whole tree")
    return nodes


def read_json(text):
    """Return the nodes of a JSON tree, {"label": ..., "children": [...], "token": ...}, children before parents."""
    nodes = []

    def visit(item):
        item = item if isinstance(item, dict) else {"label": item}
        children = [visit(child) for child in item.get("children") or []]
        label, token = item["label"], item.get("token")
        nodes.append((label, token, children) if children or token is not None else ("leaf", label, []))
        return len(nodes) - 1

    visit(json.loads(text, parse_int=str, parse_float=str))
    return nodes


def scaled(value, function, above, position, scales):
    """Return a number on the scale of its place, the narrowest that there is."""
    for place in ((function, above, position), (function, above, None), (function, None, None), (None, None, None)):
        if place in scales:
            middle, spread = scales[place]
            return np.arcsinh(np.clip((value / 2 - middle / 2) / spread, -1e300, 1e300) * 2)
    return value


def rows_of(nodes, model, rows):
    """Append (function, token, number, rows of children) for each node to ``rows``; return the root's row."""
    first, above = len(rows), {}
    for function, _, children in nodes:
        names = [nodes[child][0] if function in model["own_positions"] else "" for child in children]
        above |= {child: (function, min(names[:k].count(names[k]), 8)) for k, child in enumerate(children)}
    for i, (function, token, children) in enumerate(nodes):
        known = [(name, size) for name in (function, "<unk>") for size in (len(children), None)]
        known = [model["functions"][key] for key in known if key in model["functions"]]
        number = np.nan
        if model["numbers"] and token is not None and not children and NUMBER.fullmatch(token):
            number, token = scaled(float(token), function, *above.get(i, ("", 0)), model["scales"]), None
        word = -1 if token is None else model["tokens"].get(token, model["unknown_token"])
        if not known or word is None or (model["dates"] and re.match(r"\d{4}-\d\d-\d\d", token or "")):
            raise ValueError(f"unknown function {function!r} of {len(children)}, unknown token {token!r}, or a date")
        rows.append((known[0], word, number, [first + child for child in children]))
    return len(rows) - 1


def plan(trees, model):
    """Return the inputs of the graph for trees, which are lists of nodes; ``ValueError`` if they are no trees."""
    rows, level = [], []
    roots = [rows_of(nodes, model, rows) for nodes in trees]
    for *_, children in rows:
        level.append(1 + max((level[child] for child in children), default=-1))
    kind = [(level[i], model["groups"][row[0]]) for i, row in enumerate(rows)]
    order, leaves = sorted(range(len(rows)), key=kind.__getitem__), level.count(0)
    found = {name: [] for name in ("leaf_runs", "runs", "slots", "children", "parents", "positions")}
    place, free, written, count, last = {}, [], set(), 0, 0
    for (height, group), rows_of_run in groupby(order, key=kind.__getitem__):
        run, edge, first = list(rows_of_run), len(found["children"]), last
        last += len(run)
        if not height:
            place |= {row: first + k for k, row in enumerate(run)}
            found["leaf_runs"].append((first, last, group))
            continue
        for k, row in enumerate(run):
            found["children"] += [place[child] for child in rows[row][3]]
            found["parents"] += [first - leaves + k] * len(rows[row][3])
            found["positions"] += range(len(rows[row][3]))
        read = [child for child in found["children"][edge:] if child >= leaves]
        if len(set(read)) < len(read) or not written.issuperset(read):
            raise ValueError("a node has two parents, so its slot would be free before the second reads it")
        written.difference_update(read)
        free += [child - leaves for child in read]
        for row in run:
            slot = free.pop() if free else count
            count, place[row] = max(count, slot + 1), leaves + slot
            written.add(place[row])
            found["slots"].append(slot)
        found["runs"].append((first - leaves, last - leaves, group, edge, len(found["children"])))
    found |= {name: [rows[row][k] for row in order] for k, name in enumerate(("function", "token", "number"))}
    found["roots"] = [place[root] for root in roots]
    tables = {name: np.array(found[name], np.float64 if name == "number" else np.int64) for name in model["inputs"]}
    return tables | {name: tables[name].reshape(-1, width) for name, width in (("leaf_runs", 3), ("runs", 5))}


def load(folder):
    """Return what reading.json says, by names. ``ValueError`` for a way of reading that this planner lacks."""
    model = json.loads((folder / "reading.json").read_text(encoding="utf-8"))
    if model["special"]:
        raise ValueError(f"this planner reads s-expressions and JSON trees, and lacks {', '.join(model['special'])}")
    model["groups"] = [function["group"] for function in model["functions"]]
    model["functions"] = {(known["name"], known["children"]): i for i, known in enumerate(model["functions"])}
    model["tokens"] = {token: i for i, token in enumerate(model["tokens"])}
    model["scales"] = {tuple(place): numbers for place, numbers in model["scales"]}
    return model


if __name__ == "__main__":
    model = load(Path(sys.argv[1]))
    read = {"sexpr": read_sexpr, "json": read_json}[model["reading"]["notation"]]
    lines = filter(str.strip, sys.stdin)
    examples = [line.partition("\t")[::2] if model["trees_of_an_example"] > 1 else [line] for line in lines]
    tables = plan([read(text) for example in examples for text in example], model)
    session = onnxruntime.InferenceSession(Path(sys.argv[1]) / "model.onnx")
    (answers,) = session.run(["label" if model["classes"] else "answers"], tables)
    for answer in answers.tolist():
        print(model["classes"][answer] if model["classes"] else f"{answer:.6g}")
