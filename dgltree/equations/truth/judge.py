"""The judge: proofs, parts of the real line, refutations and tests, in the order of what is cheapest."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

from flint import acb, ctx, fmpq

from dgltree.equations.truth.balls import Program, Unjudged
from dgltree.equations.truth.compare import ONE_SIDED, Found, Outcome, Reading, compare, counts_against
from dgltree.equations.truth.conditions import conditions
from dgltree.equations.truth.counterexamples import counterexample, written
from dgltree.equations.truth.fingerprint import Fingerprint, Reach
from dgltree.equations.truth.numeric_part import WINDOW, numeric_part
from dgltree.equations.truth.part import Part
from dgltree.equations.truth.proof import proved
from dgltree.equations.truth.rational import NoValue
from dgltree.equations.truth.real_line import Line, State, real_line
from dgltree.equations.truth.region import Region
from dgltree.equations.truth.sample_points import Angle, Point, points
from dgltree.equations.truth.verdict import Counterexample, Domain, Grade, Tested, Verdict, undecided
from dgltree.trees.equation import Equation, unified

FIRST = 10
"""Points that are tried before anything is proved."""
CHECKED = 24
"""Points at which a proof is checked."""
NEEDED = 5
"""Points at which sides must agree to be called tested."""
HOLES = 2
"""Points at which one side alone may lack a value, of an equation that holds."""
MOST_NAMES = 12
DOMAINS = {Domain.EVERYWHERE: "complex", Domain.REALS: "real", Domain.POSITIVE: "positive"}
ROOTS = "odd roots of negative numbers are read as real"


class Trial(NamedTuple):
    """What a number of points say."""

    agreed: int
    skipped: int
    holes: int
    """Points at which exactly one side has a value of any kind."""
    against: tuple[Point, Found] | None
    """The first point that refutes."""


class Judge:
    """Gives verdicts, and remembers them."""

    def __init__(self) -> None:
        self._known: dict[Equation, Verdict] = {}
        self._fingerprint = Fingerprint()

    def reach(self, equation: Equation) -> Reach:
        """Where floating-point numbers agree: a quick guess, which a verdict may contradict."""
        return self._fingerprint.reach(equation)

    def holds(self, equation: Equation) -> bool:
        """Whether it is likely to hold at least on positive reals, and the verdict says so, too."""
        return self.reach(equation).likely and self.verdict(equation).holds

    def verdict(self, equation: Equation) -> Verdict:
        """What can be said; undecided also where a function or a leaf has no value, and for what is too large."""
        if equation not in self._known:
            try:
                self._known[equation] = _Case(unified(equation)).verdict()
            except Unjudged as error:
                self._known[equation] = undecided(str(error))
            except RecursionError:
                self._known[equation] = undecided("it is too large")
        return self._known[equation]


class _Case:
    """One equation."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        self.principal, self.school = Program(equation, school=False), Program(equation, school=True)
        self.names = sorted(self.principal.variables)
        if len(self.names) > MOST_NAMES:
            raise Unjudged(f"it has more than {MOST_NAMES} variables")
        self.roots = self.principal.odd_roots

    def verdict(self) -> Verdict:
        if not self.names:
            return self._constant()
        everywhere = self._everywhere()
        if everywhere is not None:
            return everywhere
        if len(self.names) == 1:
            return self._one_variable()
        return self._several()

    # trials

    def _try(self, kind: str, at: Iterator[Point] | Sequence[Point], reading: Reading | None = None) -> Trial:
        program = self.principal if kind == "complex" else self.school
        agreed = skipped = holes = 0
        for point in at:
            found = compare(program, point, reading or kind)
            if counts_against(found.outcome, reading or kind):
                if found.outcome in ONE_SIDED and None in (found.left, found.right):
                    holes += 1  # no value at all, as at a pole
                    if holes <= HOLES:
                        continue
                return Trial(agreed, skipped, holes, (point, found))
            agreed += found.outcome is Outcome.AGREE
            skipped += found.outcome is Outcome.OPEN
            holes += found.outcome in ONE_SIDED and None in (found.left, found.right)
        return Trial(agreed, skipped, holes, None)

    def _proved(self, kind: str) -> bool:
        try:
            return proved(self.equation, self.names, Region(kind))
        except NoValue:
            return False

    def _tested(self, trial: Trial, kind: str) -> Tested:
        low, high = ("", "") if kind == "complex" else ("1e-6" if kind == "positive" else "-1e6", "1e6")
        return Tested(trial.agreed, trial.skipped, low, high)

    # no variable

    def _constant(self) -> Verdict:
        school, principal = (compare(program, {}, "complex") for program in (self.school, self.principal))
        found = school if school.outcome is Outcome.AGREE else principal
        if found.outcome is Outcome.DIFFER:
            return Verdict(Grade.REFUTED, counterexample=counterexample({}, found))
        if found.outcome is not Outcome.AGREE:
            return undecided(_no_value(found) or "the values cannot be told apart with 1,024 bits")
        both = school.outcome is principal.outcome
        domain = Domain.EVERYWHERE if principal.outcome is Outcome.AGREE else Domain.REALS
        notes = () if both else (_constant_note(domain, principal),)
        try:
            sure = proved(self.equation, [], Region("complex" if domain is Domain.EVERYWHERE else "real"))
        except NoValue:
            sure = False
        if sure or (isinstance(found.left, fmpq) and isinstance(found.right, fmpq)):
            return Verdict(Grade.PROVED, domain, notes=notes)
        return Verdict(Grade.TESTED, domain, tested=Tested(1, 0, "", ""), notes=notes)

    # complex

    def _everywhere(self) -> Verdict | None:
        if self._try("complex", islice(points(self.names, "complex"), FIRST)).against is not None:
            return None
        sure = self._proved("complex")
        checked = self._try("complex", islice(points(self.names, "complex"), CHECKED if sure else None))
        # a real point is a complex one, and shows where a side has no value at all
        real = self._try("complex", islice(points(self.names, "real"), CHECKED if sure else None), "complex")
        if checked.against or real.against or checked.holes + real.holes > HOLES:
            return None
        agreed = checked.agreed + real.agreed
        if not agreed:
            return undecided("a side has no value at any point that was tried")
        if not sure and agreed < 2 * NEEDED:
            return None
        notes = self._notes()
        but: tuple[str, ...] = ()
        part: Part = ()
        line = self._line() if len(self.names) == 1 and conditions(self.equation) else None
        if line is not None:
            part, but = line.part, tuple(f"{self.names[0]} = {hole}" for hole in line.holes)
        elif len(self.names) > 1:
            but = conditions(self.equation)
        grade = Grade.PROVED if sure else Grade.TESTED
        both = Trial(agreed, checked.skipped + real.skipped, 0, None)
        tested = None if sure else self._tested(both, "complex")
        variable = self.names[0] if part else ""
        return Verdict(grade, Domain.EVERYWHERE, variable, conditions=but, tested=tested, notes=notes)

    def _notes(self) -> tuple[str, ...]:
        """How odd roots were read, where the other reading says something else."""
        if not self.roots:
            return ()
        trial = self._try("real", islice(points(self.names, "real"), CHECKED))
        if trial.against is None:
            return ()
        if len(self.names) == 1:
            line = real_line(self.equation, self.names[0], self.school, school=True)
            if line is not None and line.part:
                place = Verdict(Grade.PROVED, Domain.PART, self.names[0], line.part).place
                return (f"by principal values; where {ROOTS} it {place}",)
        return (f"by principal values; it does not hold where {ROOTS}",)

    # one real variable

    def _line(self) -> Line | None:
        return real_line(self.equation, self.names[0], self.school, school=True)

    def _one_variable(self) -> Verdict:
        name, line = self.names[0], self._line()
        if line is not None and any(cell.state is State.HOLDS for cell in line.cells):
            line = self._checked(line)
        if line is None or any(cell.state is State.OPEN for cell in line.cells):
            return self._numeric(line)
        if not line.complete and all(cell.state is not State.HOLDS for cell in line.cells):
            return self._numeric(line)
        notes = self._root_notes(line)
        broken = [cell for cell in line.cells if cell.state in (State.FAILS, State.ALONE)]
        holding = any(cell.state is State.HOLDS for cell in line.cells)
        if holding and not broken and not line.breaks:
            but = tuple(f"{name} = {hole}" for hole in line.holes)
            known: dict[str, Any] = {"part": line.part, "only": line.complete, "conditions": but, "notes": notes}
            return Verdict(Grade.PROVED, Domain.REALS, name, **known)
        if not line.part and not broken:
            return undecided("no side has a real value where it was tried")
        against = self._against(line) or self._complex_against()
        known = {"part": line.part, "only": line.complete, "counterexample": against, "notes": notes}
        if not line.part:
            if all(cell.state is State.ALONE and None in (cell.found.left, cell.found.right) for cell in line.cells):
                return undecided(_no_value(line.cells[0].found) or "a side has no value")
            return Verdict(Grade.REFUTED, Domain.NONE, name, **known)
        right = [cell for cell in line.cells if cell.region.side > 0]
        positive = any(cell.state is State.HOLDS for cell in right)
        positive &= all(cell.state is not State.FAILS for cell in right)
        positive &= all(end.value <= 0 for end in line.breaks)
        return Verdict(Grade.PROVED, Domain.POSITIVE if positive else Domain.PART, name, **known)

    def _checked(self, line: Line) -> Line | None:
        """A line whose proofs no point contradicts; it would take a fault of this program that one does."""
        name = self.names[0]
        for point in islice(points(self.names, "real"), 2 * CHECKED):
            x = point[name]
            if isinstance(x, Angle):
                continue
            number = int(x.p) / int(x.q)
            inside = any(
                (piece.low is None or piece.low.value < number) and (piece.high is None or number < piece.high.value)
                for piece in line.part
                if not piece.is_point
            )
            if inside and compare(self.school, point, "real").outcome is Outcome.DIFFER:
                return None
        return line

    def _root_notes(self, line: Line) -> tuple[str, ...]:
        if not self.roots:
            return ()
        other = real_line(self.equation, self.names[0], self.principal, school=False)
        if other is None or other.part == line.part:
            return ()
        place = Verdict(Grade.PROVED, Domain.PART, self.names[0], other.part).place if other.part else "does not hold"
        return (f"{ROOTS}; by principal values it {place}",)

    def _against(self, line: Line) -> Counterexample | None:
        """The counterexample of a line: in the cell where the sides differ plainly, next to one where they agree."""
        found = [(cell.sample, cell.found) for cell in line.cells if cell.state is State.FAILS]
        found += [(cell.sample, cell.found) for cell in line.cells if cell.state is State.ALONE]
        found.sort(key=lambda one: (one[1].outcome is not Outcome.DIFFER, one[0] < 0, abs(one[0])))
        if found:
            return counterexample({self.names[0]: found[0][0]}, found[0][1])
        for end in line.breaks:
            with ctx.workprec(320):
                value = (
                    fmpq(*map(int, end.text.split("/"))) if end.text.lstrip("-").replace("/", "").isdigit() else None
                )
            if value is not None:
                point = {self.names[0]: value}
                return counterexample(point, compare(self.school, point, "real"))
        return None

    def _complex_against(self) -> Counterexample | None:
        """A counterexample where no real value is one: exp(ix) = cos(x) - i*sin(x)."""
        found = self._try("complex", points(self.names, "complex")).against
        return None if found is None else counterexample(*found)

    def _numeric(self, line: Line | None) -> Verdict:
        """Where a proof does not reach the whole line."""
        for domain in (Domain.REALS, Domain.POSITIVE):
            kind = DOMAINS[domain]
            trial = self._try(kind, points(self.names, kind))
            if trial.against is None and trial.agreed >= NEEDED:
                notes = (ROOTS,) if self.roots else ()
                return Verdict(
                    Grade.TESTED, domain, self.names[0], tested=self._tested(trial, kind), notes=notes,
                    conditions=tuple(f"{self.names[0]} = {hole}" for hole in line.holes) if line else (),
                )  # fmt: skip
        against = trial.against or self._try("real", points(self.names, "real")).against
        if against is None:
            elsewhere = self._complex_against()
            if elsewhere is None:
                return undecided("too few points at which both sides have a value")
            return Verdict(Grade.REFUTED, Domain.NONE, self.names[0], counterexample=elsewhere)
        shown = counterexample(*against)
        if line is not None and any(cell.state is State.HOLDS for cell in line.cells):
            return Verdict(
                Grade.PROVED, Domain.PART, self.names[0], part=line.part, counterexample=shown,
                notes=self._root_notes(line),
            )  # fmt: skip
        part = numeric_part(self.names[0], self.school) if self._often(against[0]) else ()
        if not part:
            return Verdict(Grade.REFUTED, Domain.NONE, self.names[0], counterexample=shown)
        return Verdict(
            Grade.TESTED, Domain.PART, self.names[0], part=part, window=WINDOW, counterexample=shown,
            notes=(ROOTS,) if self.roots else (),
        )  # fmt: skip

    def _often(self, against: Point) -> bool:
        """Whether the sides agree at more than single points."""
        outcomes = [compare(self.school, {self.names[0]: fmpq(k, 5)}, "real").outcome for k in range(-23, 24, 2)]
        return any(a is b is Outcome.AGREE for a, b in pairwise(outcomes))

    # several real variables

    def _several(self) -> Verdict:
        for domain in (Domain.REALS, Domain.POSITIVE):
            kind = DOMAINS[domain]
            if self._try(kind, islice(points(self.names, kind), FIRST)).against is not None:
                continue
            sure = self._proved(kind)
            trial = self._try(kind, islice(points(self.names, kind), 2 * CHECKED if sure else None))
            if trial.against is not None or trial.holes > HOLES or trial.agreed < (1 if sure else NEEDED):
                continue
            notes = (ROOTS,) if self.roots and domain is Domain.REALS else ()
            but = conditions(self.equation) if domain is Domain.REALS else ()
            against = None
            if domain is Domain.POSITIVE:
                real = self._try("real", points(self.names, "real")).against
                against = counterexample(*real) if real is not None else None
            return Verdict(
                Grade.PROVED if sure else Grade.TESTED, domain, conditions=but, notes=notes, counterexample=against,
                tested=None if sure else self._tested(trial, kind),
            )  # fmt: skip
        for kind in ("positive", "real", "complex"):
            against_point = self._try(kind, points(self.names, kind)).against
            if against_point is not None:
                return Verdict(Grade.REFUTED, counterexample=counterexample(*against_point))
        return undecided("too few points at which both sides have a value")


def _no_value(found: Found) -> str:
    """Which side has no value."""
    missing = [name for name, side in (("left", found.left), ("right", found.right)) if side is None]
    if len(missing) == 2:
        return "neither side has a value"
    return f"the {missing[0]} side has no value" if missing else ""


def _constant_note(domain: Domain, principal: Found) -> str:
    if domain is Domain.EVERYWHERE:
        return f"by principal values; it does not hold where {ROOTS}"
    sides = [written(side, 6) for side in (principal.left, principal.right) if isinstance(side, fmpq | acb)]
    return f"{ROOTS}; by principal values left is {sides[0]}" if sides else ROOTS
