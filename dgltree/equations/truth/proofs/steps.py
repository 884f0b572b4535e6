"""Lemma instances that a walk through two sides offers; the checker decides which of them are right.

They follow from the expressions and from the signs of their factors: sqrt(x^2*y) is |x|*sqrt(y) if y is not negative.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import isqrt, lcm

from dgltree.equations.truth.proofs.certificates import LemmaStep
from dgltree.equations.truth.proofs.cuts import compile_floats, value_or_none
from dgltree.equations.truth.proofs.expression import (
    FUNCTIONS,
    NEGATIVE,
    NOT_NEGATIVE,
    NOT_POSITIVE,
    ONE,
    PI,
    POSITIVE,
    ZERO,
    Expression,
    at_number,
    minus,
    negative,
    number,
    subexpressions,
)
from dgltree.equations.truth.proofs.fractions import product, raise_to, total
from dgltree.equations.truth.proofs.place import Place

MOST_TERMS = 12
"""Terms of a sum within an exponential or a sine."""
Factor = tuple[Expression, int]


class Offers:
    """The steps for a place, each after those that it needs."""

    def __init__(self, place: Place, sides: Sequence[Expression], samples: Sequence[float]) -> None:
        self.place = place
        self.ring = place.ring
        self._samples = samples
        self._values: dict[Expression, list[float | None]] = {}
        self.steps: dict[LemmaStep, None] = {}
        self._visited: set[Expression] = set()
        self._units: dict[str, int] = {}
        inside = dict.fromkeys(u for side in sides for u in subexpressions(side))
        self._roots = [*sides, *(("abs", u) for u in inside if u[0] in ("sin", "cos"))]
        self._plain_parts = [u for u in inside if u[0] not in ("number", "log", "pi")][:MOST_TERMS]
        # One unit per term over both sides, such as x/6 for exp(x/2) and exp(x/3): arguments are whole multiples of it.
        for u in inside:
            if u[0] in ("exp", "sin", "cos"):
                for c, term in self._terms(u[1]):
                    key = str(term)
                    self._units[key] = lcm(self._units.get(key, 1), c.denominator)
        for side in sides:
            self.visit(side)
        functions = [t for t in self._visited if t[0] in FUNCTIONS]
        for t, u in combinations(functions, 2):
            if t[0] == u[0] and self.ring.quotient(t) != self.ring.quotient(u) and self._agree(t[1], u[1]):
                self.add(f"same {t[0]}", t[1], u[1])

    def _agree(self, t: Expression, u: Expression) -> bool:
        """Whether two expressions have about the same values at the samples: else no rule makes them equal."""
        pairs = [(a, b) for a, b in zip(self._at_samples(t), self._at_samples(u), strict=True) if None not in (a, b)]
        return bool(pairs) and all(abs(a - b) <= 1e-6 * (1e-6 + abs(a) + abs(b)) for a, b in pairs)  # type: ignore[operator, arg-type]

    def _at_samples(self, t: Expression) -> list[float | None]:
        if t not in self._values:
            f = compile_floats(t)
            self._values[t] = [value_or_none(f, x) for x in self._samples]
        return self._values[t]

    def add(self, name: str, *arguments: Expression, n: int = 0) -> None:
        self.steps.setdefault(LemmaStep(name, arguments, n))

    def visit(self, t: Expression) -> None:
        if t in self._visited:
            return
        self._visited.add(t)
        self.ring.quotient(t)
        if self.place.is_point and t[0] not in ("number", "x", "pi") and self.place.signs(t) == ZERO:
            self.add("zero", t)
        for part in t[1:]:
            if isinstance(part, tuple):
                self.visit(part)
        if len(t) > 1 and isinstance(t[1], tuple):
            self._visit_function(t, t[1])

    def _visit_function(self, t: Expression, a: Expression) -> None:
        match t[0]:
            case "abs":
                self._absolute(a)
            case "sqrt":
                self._square_root(t, a)
            case "root":
                self._odd_root(t, a, t[2])
            case "log":
                self._logarithm(a)
            case "exp":
                self._exponential(a)
            case "sin" | "cos":
                self._circular(a)
            case "asin" | "acos" | "atan":
                self._inverse(t[0], a)
            case "power":
                self.visit(("exp", ("*", t[2], ("log", a))))
        if t[0] not in ("abs", "^", "*", "+", "power", "root"):
            plain = self._plain(a)
            if plain != a:
                self.add(f"same {t[0]}", a, plain)
                self.visit((t[0], plain))

    def _plain(self, t: Expression) -> Expression:
        """Return ``t`` without absolute values whose signs are clear, and with logarithms of products as sums."""
        if len(t) < 2 or t[0] == "number":
            return t
        t = (t[0], *(self._plain(part) if isinstance(part, tuple) else part for part in t[1:]))
        if t[0] == "log":
            parts = self._positive_factors(t[1])
            return t if parts is None else total([product([number(n), ("log", size)]) for size, n in parts])
        if t[0] == "abs":
            signs = self.place.signs(t[1])
            if signs <= NOT_NEGATIVE:
                return t[1]
            return negative(t[1]) if signs <= NOT_POSITIVE else t
        if t[0] == "sqrt" and t[1][0] == "^" and t[1][2] == 2:
            return self._plain(("abs", t[1][1]))
        return t

    def _absolute(self, a: Expression) -> None:
        signs = self.place.signs(a)
        if signs <= NOT_NEGATIVE:
            self.add("abs+", a)
        elif signs <= NOT_POSITIVE:
            self.add("abs-", a)
        else:
            content, factors = self.ring.factors(a)
            parts = [number(content)] if content != 1 else []
            parts += [factor if n > 0 else ("^", factor, -1) for factor, n in factors for _ in range(min(abs(n), 4))]
            if len(parts) > 1:
                self._split("abs*", parts)
                for part in parts:
                    self.visit(("abs", part))
            self.add("abs^2", a)

    def _split(self, name: str, parts: Sequence[Expression]) -> None:
        """A rule for a product or a sum of two, for all parts of one."""
        join = total if name.endswith("+") else product
        for k in range(len(parts) - 1):
            self.add(name, parts[k], join(parts[k + 1 :]))

    def _square_root(self, t: Expression, a: Expression) -> None:
        self.add("sqrt^2", a)
        if self.place.signs(a) == ZERO:
            self.add("sqrt is", a, number(0))
        if a[0] == "exp":
            half = ("*", number(Fraction(1, 2)), a[1])
            self.add("exp+", half, half)
            self.add("sqrt is", a, ("exp", half))
        root = self._root_of_factors(self.ring.without_squares(a))
        if root is not None and root != t:
            self.visit(root)
            self.add("sqrt is", a, root)
        for candidate in self._roots:
            if candidate != t and self._agree(t, candidate):
                self.add("sqrt is", a, candidate)

    def _root_of_factors(self, a: Expression) -> Expression | None:
        """A product whose square is a, with the roots of factors that are not negative; the others stay together."""
        content, factors = self.ring.factors(a)
        if not content:
            return None
        positive = content > 0
        outside = self._number_root(abs(content))
        odd = []
        for factor, n in factors:
            signs = self.place.signs(factor)
            size = factor if signs <= NOT_NEGATIVE else negative(factor) if signs <= NOT_POSITIVE else None
            if n % 2 and size is None:
                odd.append(factor)
            elif n % 2 and size is not None:
                positive ^= size is not factor
                outside.append(("sqrt", size))
            if n // 2:
                outside.append(raise_to(("abs", factor) if size is None and n // 2 % 2 else size or factor, n // 2))
        if odd or not positive:
            rest = product(odd or [ONE])
            outside.append(("sqrt", rest if positive else negative(rest)))
        return product(outside)

    def _number_root(self, q: Fraction) -> list[Expression]:
        top = isqrt(q.numerator)
        bottom = isqrt(q.denominator)
        if top**2 == q.numerator and bottom**2 == q.denominator:
            return [number(Fraction(top, bottom))]
        return [("sqrt", number(q))]

    def _odd_root(self, t: Expression, a: Expression, n: int) -> None:
        self.add("root^", a, n=n)
        content, factors = self.ring.factors(a)
        if not content:
            return
        parts = []
        if content != 1:
            parts.append(at_number(("root", number(content), n), Fraction(0)))
        for factor, times in factors:
            whole, rest = divmod(times, n)
            if whole:
                parts.append(raise_to(factor, whole))
            if rest:
                parts.append(raise_to(("root", factor, n), rest))
        root = product(parts or [ONE])
        if a[0] == "sqrt":
            root = ("sqrt", ("root", a[1], n))
        if a[0] == "root":
            root = ("root", a[1], n * a[2])
        if root != t:
            self.visit(root)
            self.add("root is", a, root, n=n)

    def _logarithm(self, a: Expression) -> None:
        self.add("log 1")
        if a[0] == "exp":
            self.add("log exp", a[1])
        if a[0] == "abs":
            self.visit(("log", ("^", a[1], 2)))
        if a[0] == "sqrt":
            self.add("log^", a, n=2)
            self.add("same log", raise_to(a, 2), a[1])
            self.visit(("log", a[1]))
        parts = self._positive_factors(a)
        if parts is not None:
            self._logarithms(parts)
        for candidate in self._plain_parts:
            if a != ("exp", candidate) and self._agree(("log", a), candidate):
                self.visit(("exp", candidate))
                self.add("same log", a, ("exp", candidate))
                self.add("log exp", candidate)

    def _positive_factors(self, a: Expression) -> list[Factor] | None:
        """Primes and other factors that are positive, with their powers; None if a may not be their product."""
        content, factors = self.ring.factors(a)
        positive = content > 0
        parts: list[Factor] = [(number(p), n) for p, n in _primes(abs(content))]
        for factor, n in factors:
            signs = self.place.signs(factor)
            if n % 2 and signs == NEGATIVE:
                positive = not positive
            elif n % 2 and signs != POSITIVE:
                return None
            parts.append(
                (negative(factor) if signs == NEGATIVE else factor if signs == POSITIVE else ("abs", factor), n)
            )
        return parts if positive else None

    def _logarithms(self, parts: Sequence[Factor]) -> None:
        powers = [raise_to(size, n) for size, n in parts]
        self._split("log*", powers)
        for (size, n), power in zip(parts, powers, strict=True):
            self.visit(size)
            if n < 0:
                self.add("log/", raise_to(size, -n))
            if abs(n) > 1:
                self.add("log^", size, n=abs(n))
            if size[0] == "exp":
                self.add("log exp", size[1])
            if size[0] in ("sqrt", "abs") or power != size:
                self.visit(("log", size))
            if size[0] == "abs":
                self.add("same log", power, raise_to(size[1], n))

    def _terms(self, a: Expression) -> list[tuple[Fraction, Expression]]:
        """Numbers and what they are multiplied by in a sum; none of a fraction."""
        top, bottom = self.ring.quotient(a)
        if not bottom.is_constant():
            return []
        monomials = zip(top.monoms(), top.coeffs(), strict=True)
        return [
            (Fraction(int(c.p), int(c.q)), self.ring.expression(self.ring.context.from_dict({tuple(m): 1})))
            for m, c in monomials
        ]

    def _unit_terms(self, a: Expression) -> list[tuple[Expression, int]]:
        """A sum as whole multiples of expressions; none if these are many."""
        units = []
        for c, term in self._terms(a):
            unit = lcm(self._units.get(str(term), 1), c.denominator)
            small = (
                term
                if unit == 1
                else number(Fraction(1, unit))
                if term == ONE
                else ("*", number(Fraction(1, unit)), term)
            )
            units.append((small, int(c * unit)))
        return units if sum(abs(n) for _, n in units) <= MOST_TERMS else []

    def _exponential(self, a: Expression) -> None:
        self.add("exp 0")
        units = self._unit_terms(a)
        for small, n in units:
            if n < 0:
                self.add("exp-", small)
            for u in subexpressions(small):
                if u[0] == "log":
                    self.add("exp log", u[1])
            if small[0] == "*" and small[1][0] == "log":  # log(a)*b is the exponent of a power
                self.visit(small[1])
        self._split("exp+", _listed(units))

    def _circular(self, a: Expression) -> None:
        units = self._unit_terms(a)
        parts = _listed(units)
        for name in ("sin+", "cos+"):
            self._split(name, parts)
        for small, n in units:
            if n < 0:
                self.add("sin-", small)
                self.add("cos-", small)
            self.add("circle", small)
            self._special_angle(small)
            self._of_inverse(small)

    def _special_angle(self, a: Expression) -> None:
        for k in (2, 4, 6):
            if a == ("*", number(Fraction(1, k)), PI):
                self.add(f"sin {k}")
                self.add(f"cos {k}")
                if k > 2:
                    self.visit(("sqrt", number(k // 2)))
        if a == PI:
            half = ("*", number(Fraction(1, 2)), PI)
            for name in ("sin 2", "cos 2"):
                self.add(name)
            self.add("sin+", half, half)
            self.add("cos+", half, half)

    def _of_inverse(self, a: Expression) -> None:
        if a[0] in ("asin", "acos"):
            self.visit(("sqrt", minus(ONE, raise_to(a[1], 2))))
            for outer in ("sin", "cos"):
                self.add(f"{outer} {a[0]}", a[1])
        if a[0] == "atan":
            self.visit(("sqrt", ("+", ONE, raise_to(a[1], 2))))
            self.add("sin atan", a[1])
            self.add("cos atan", a[1])

    def _inverse(self, name: str, a: Expression) -> None:
        outer = {"asin": "sin", "acos": "cos", "atan": "tan"}[name]
        if name != "atan":
            self.add("asin+acos", a)
        candidates = [self._argument(outer, a), *map(negative, filter(None, [self._argument(outer, negative(a))]))]
        if not any(u == ("x",) for u in subexpressions(a)):
            candidates += [("*", number(Fraction(k, 12)), PI) for k in range(-6, 13) if k % 2 == 0 or k % 3 == 0]
        for candidate in filter(None, candidates):
            if not self._agree((name, a), candidate):
                continue
            self.visit(("sin", candidate))
            self.visit(("cos", candidate))
            self.add(f"{name} is", a, candidate)

    def _argument(self, outer: str, a: Expression) -> Expression | None:
        """B of sin(B)."""
        if a[0] == outer:
            return a[1]
        if outer == "tan" and a[0] == "*" and a[1][0] == "sin" and a[2] == ("^", ("cos", a[1][1]), -1):
            return a[1][1]
        return None


def _listed(units: Iterable[tuple[Expression, int]]) -> list[Expression]:
    return [small if n > 0 else negative(small) for small, n in units for _ in range(abs(n))]


def _primes(q: Fraction) -> list[tuple[int, int]]:
    """Primes and their powers; a large number that is left is one of them."""
    powers: dict[int, int] = {}
    for number_, way in ((q.numerator, 1), (q.denominator, -1)):
        p = 2
        while number_ > 1:
            if p > 1000:
                p = number_
            while number_ % p == 0:
                number_ //= p
                powers[p] = powers.get(p, 0) + way
            p += 1
    return sorted(powers.items())
