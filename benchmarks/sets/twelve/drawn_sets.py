"""Sets that are drawn: many functions, sums with heavy tails, sequences of rules and formulas."""

import math
from collections.abc import Callable, Iterator
from random import Random

from benchmarks.sets.records import LabelledRecord

NUM_ROWS = 1000
TYPES, FUNCTIONS, CONSTANTS = 6, 150, 40
"""Of ``typed``: kinds of values, and how many functions and constants have a signature."""
POINTS = (0.3, 0.7, 1.1, 1.9)
"""Where a function and its mirror image are compared."""
UNARY: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "atan": math.atan,
    "neg": lambda x: -x,
    "cube": lambda x: x**3,
    "cos": math.cos,
    "abs": abs,
    "square": lambda x: x * x,
    "gauss": lambda x: math.exp(-x * x),
    "exp": lambda x: math.exp(min(x, 50)),
    "shift": lambda x: x + 1,
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
}


def typed() -> Iterator[LabelledRecord]:
    """Calls of 150 functions, half of them with one argument of a wrong type; frequencies are as of words."""
    random = Random(31)
    signatures = [
        (f"f{i}", random.randrange(TYPES), [random.randrange(TYPES) for _ in range(random.randrange(1, 4))])
        for i in range(FUNCTIONS)
    ]
    constants = [(f"c{i}", i % TYPES) for i in range(CONSTANTS)]

    def frequent(among: list[tuple[str, int]]) -> str:
        return random.choices([name for name, _ in among], [1 / (1 + rank) for _, rank in among])[0]

    takes = {name: kinds for name, _, kinds in signatures}

    def call(kind: int, depth: int, wrong: list[int]) -> str:
        functions = [(name, rank) for rank, (name, result, _) in enumerate(signatures) if result == kind]
        if depth == 0 or not functions or random.random() < 0.15:
            return frequent([(name, rank) for rank, (name, of) in enumerate(constants) if of == kind])
        name = frequent(functions)
        arguments = []
        for argument in takes[name]:
            bad = bool(wrong) and random.random() < 0.3 and bool(wrong.pop())
            arguments.append(
                call((argument + random.randrange(1, TYPES)) % TYPES if bad else argument, depth - 1, wrong)
            )
        return f"({name} {' '.join(arguments)})"

    left, seen = {"well": NUM_ROWS // 2, "ill": NUM_ROWS // 2}, set[str]()
    while any(left.values()):
        label = random.choice(sorted(left))
        wrong = [1] * (label == "ill")
        tree = call(random.randrange(TYPES), 3, wrong)
        if left[label] and not wrong and tree.count("(") > 2 and tree not in seen:
            seen.add(tree)
            left[label] -= 1
            yield LabelledRecord(label, (tree,), tree)


def invoices() -> Iterator[LabelledRecord]:
    """The sum of an invoice: items with quantity and price, discounts and postage; prices are lognormal."""
    random = Random(32)
    for number in range(NUM_ROWS):
        total, texts = 0.0, list[str]()
        for _ in range(random.randrange(1, 6)):
            quantity, price = 1 + int(random.expovariate(0.4)), round(random.lognormvariate(3, 1.5), 2)
            amount, text = quantity * price, f"(item {quantity} {price})"
            if random.random() < 0.25:
                percent = random.choice([10, 20, 50])
                amount, text = amount * (100 - percent) / 100, f"(discount {percent} {text})"
            total, texts = total + amount, [*texts, text]
        if random.random() < 0.5:
            postage = round(random.uniform(3, 20), 2)
            total, texts = total + postage, [*texts, f"(postage {postage})"]
        yield LabelledRecord(f"{total:.2f}", (f"(invoice {' '.join(texts)})",), str(number))


def turns() -> Iterator[LabelledRecord]:
    """Where a walker looks after its instructions, from the north on."""
    random, seen = Random(33), set[str]()
    while len(seen) < NUM_ROWS:
        text, quarters = _instructions(random, 4)
        if text.count("(") > 2 and text not in seen:
            seen.add(text)
            yield LabelledRecord("NESW"[quarters % 4], (text,), text)


def _instructions(random: Random, depth: int) -> tuple[str, int]:
    if depth == 0 or random.random() < 0.15:
        return random.choice([("go", 0), ("left", -1), ("right", 1), ("around", 2)])
    name = random.choice(["then", "then", "after", "twice", "thrice", "mirrored"])
    text, quarters = _instructions(random, depth - 1)
    if name in ("then", "after"):
        other, more = _instructions(random, depth - 1)
        return f"({name} {text} {other})", quarters + more
    return f"({name} {text})", quarters * {"twice": 2, "thrice": 3, "mirrored": -1}[name]


def parity() -> Iterator[LabelledRecord]:
    """Whether a function of x is even, odd or neither, by its values; as many of each."""
    random, left, seen = Random(34), dict.fromkeys(("even", "odd", "neither"), NUM_ROWS // 3), set[str]()
    while any(left.values()):
        text, value = _function(random, 4)
        if text.count("(") < 3 or "x" not in text.replace("exp", "") or text in seen:
            continue
        seen.add(text)
        kind = _parity(value)
        if left.get(kind):
            left[kind] -= 1
            yield LabelledRecord(kind, (text,), text)


def _function(random: Random, depth: int) -> tuple[str, Callable[[float], float]]:
    if depth == 0 or random.random() < 0.1:
        if random.random() < 0.75:
            return "x", lambda x: x
        constant = random.randrange(1, 5)
        return str(constant), lambda x: constant
    inner, f = _function(random, depth - 1)
    if random.random() < 0.6:
        name = random.choice(list(UNARY))
        return f"({name} {inner})", lambda x: UNARY[name](f(x))
    name = random.choice(list(BINARY))
    other, g = _function(random, depth - 1)
    return f"({name} {inner} {other})", lambda x: BINARY[name](f(x), g(x))


def _parity(value: Callable[[float], float]) -> str:
    """Constant functions, which are even, and those of huge values are of no kind here."""
    pairs = [(value(x), value(-x)) for x in POINTS]
    if any(abs(y) > 1e6 for pair in pairs for y in pair) or max(pairs)[0] - min(pairs)[0] < 1e-9:
        return "none"
    even, odd = (all(abs(y - sign * z) <= 1e-9 * max(1, abs(y)) for y, z in pairs) for sign in (1, -1))
    return "none" if even and odd else "even" if even else "odd" if odd else "neither"
