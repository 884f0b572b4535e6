"""Which program a node has: found by running the functions for each in-degree when it is first met.

PassFunctions may do anything with the number of messages and of nodes: divide by it, branch on it, loop over it. So no
program is taken for a degree on which the functions were not run. Recordings at four *probes*, two numbers of nodes by
two degrees, show which of their numbers follow which count; the program of one holds for a degree, or a number of
nodes, if the recording there has the same operations, and the numbers that the probes foretell.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from fractions import Fraction
from itertools import count
from math import isclose, isqrt

from torch import Tensor

from dgltree.engine.compiled.follows import Follows, followed_numbers
from dgltree.engine.compiled.programs import NodeProgram
from dgltree.engine.compiled.recording import Kind, NodeKind, PassFunctions, Recording, Situation, record
from dgltree.engine.compiled.rolled import rolled
from dgltree.engine.compiled.tensors import NotAProgramError
from dgltree.engine.compiled.translate import translate

MOST_CHILDREN = 32
"""Children of a node whose messages are computed one by one."""
MOST_ALIKE = 256
"""Children of a node whose messages are looked at one by one for a loop over them: each pair of them may be a value."""
MOST_OPERATIONS = 5000
"""Operations of functions whose messages are looked at one by one, where these are too many for values of their own: it
takes two seconds to see that they are not alike, and a minute where each of 150 is multiplied by each."""
MOST_MESSAGES = 1000
"""Messages of a node: functions are run at a hundred made-up nodes with as many, whose messages take memory."""
MOST_KINDS = 64
"""Numbers of a field by which functions decide."""
MOST_PROGRAMS = 6
"""Programs of one set of functions, without those of one form: more are no gain over torch's operations, and take
seconds to compile."""
MOST_VALUES = 800
"""Values of the programs of a pass: LLVM takes some seconds for so many, and minutes for ten thousand, which a node of
32 children has that compares each with each."""
ROWS_TRIED = (1, 2, 11, 1009)
"""Numbers of nodes for which a program is compared with the functions before it is used."""
FEWER_ROWS_TRIED = (1, 2, 11, 101)
"""Numbers of nodes for a degree above 16, where 1,009 nodes have too many messages."""
PRIMES = (53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113)
FIRST_PROBED = 13
"""The least number of messages that a program for any number is recorded at."""


def check_values(programs: Iterable[NodeProgram], why: str = "") -> None:
    """:class:`NotAProgramError` for programs that take long to compile."""
    if sum(program.size for program in programs) > MOST_VALUES:
        raise NotAProgramError(f"the programs would need more than {MOST_VALUES} values{why}")


class KnownProgram:
    """A program, and what a recording must be like for it to hold there.

    It keeps no tensor of the recording that it was made of but those that the functions made of a few numbers.

    Args:
        program: of nodes.
        probe: the recording that it was made of.
        followed: the numbers of that which follow the counts.
    """

    def __init__(self, program: NodeProgram, probe: Recording, followed: dict[int, Follows]) -> None:
        self.program = program
        self.followed = followed
        self.situations: dict[int | None, Situation] = {}
        """One of those for which it holds, for each number by which the functions decide."""
        self.skeleton = probe.skeleton
        self.numbers = probe.numbers
        self.degree = probe.degree
        self.outside: Sequence[Tensor] = probe.outside
        """What the functions hold now."""
        self.fresh = probe.fresh

    def with_tensors_of(self, recording: Recording) -> "KnownProgram":
        """This program, of functions that hold other tensors."""
        other = copy(self)
        other.outside = recording.outside
        other.situations = {}
        return other

    def holds_for(self, recording: Recording) -> bool:
        """Whether functions did the same there as the program says, with the tensors that they hold now."""
        return self.is_like(recording) and recording.holds(self.outside)

    def is_like(self, recording: Recording) -> bool:
        """Whether a recording is of the same functions, with whatever tensors."""
        if recording.skeleton != self.skeleton or len(recording.numbers) != len(self.numbers):
            return False
        for place, (number, probed) in enumerate(zip(recording.numbers, self.numbers, strict=True)):
            follows = self.followed.get(place)
            if follows is None:
                if number != probed and not (number != number and probed != probed):
                    return False
            elif not _equal(number, follows.at(recording.rows, recording.degree)):
                return False
        return True


def _equal(number: float, foretold: Fraction | float) -> bool:
    """Whole numbers exactly; others up to the rounding of a power of the degree."""
    if isinstance(number, int):
        return number == foretold
    return isclose(number, foretold, rel_tol=1e-14)


class Catalogue:
    """The programs of one set of functions, by in-degree.

    Args:
        functions: of a pass.
        nodes: the fields that were given for nodes: their kinds.
        edges: those of edges.
        has_leaves: whether nodes without in-edges are computed before all others, which then have what those wrote.
        has_late_leaves: whether some of them are also computed after others.
        by: a field whose number is the same at all nodes that functions get at once.
    """

    def __init__(
        self,
        functions: PassFunctions,
        nodes: Mapping[str, Kind],
        edges: Mapping[str, Kind],
        has_leaves: bool = True,
        has_late_leaves: bool = False,
        by: str | None = None,
    ) -> None:
        self.has_leaves = has_leaves
        self.has_late_leaves = has_late_leaves
        self.by = by
        self.functions: PassFunctions | None = functions
        """The functions to record, where there are new degrees."""
        self.given = dict(nodes)
        self.edges = dict(edges)
        self.entries: list[KnownProgram] = []
        self.written: dict[str, Kind] = {}
        """The fields that programs write."""
        self._found: dict[tuple[int, bool, int | None], KnownProgram | None] = {}
        """Program by degree, whether others of the frontier have messages, and the number by which functions decide."""
        self._leaf: dict[str, Kind] | None = None
        """What leaves write."""
        self._reduced: dict[tuple[int, int | None], dict[str, Kind]] = {}
        """What is reduced, by degree and the number by which functions decide, if any."""
        self._one_by_one: dict[tuple[object, ...], str] = {}
        """The reasons why recordings are no programs for any degree, by their skeletons."""
        sizes = [size for kind in (*nodes.values(), *edges.values()) for size in kind.shape if size]
        divisors = {prime for size in sizes for prime in PRIMES if size % prime == 0}
        first, second, *_ = [prime for prime in PRIMES if prime not in divisors]
        self._probed_rows = first, second  # of which no size of a field is a multiple

    def program(self, degree: int, others: int = 0, number: int | None = None) -> NodeProgram | None:
        """What is written at nodes of a degree; None if they keep what they have.

        Args:
            degree: the number of messages of each.
            others: for nodes without messages, the lowest number that others of their frontier have: what is reduced
                there is 0 for them.
            number: what the field ``by`` has at these nodes, if there is such a field.

        Raises :class:`NotAProgramError` with the reason, and the user's line where there is one.
        """
        entry = self.entry(degree, others, number)
        return None if entry is None else entry.program

    def entry(self, degree: int, others: int = 0, number: int | None = None) -> KnownProgram | None:
        """The program of nodes of a degree, with what it was made of."""
        for key in ((degree, bool(others), None), (degree, bool(others), number)):
            if key in self._found:
                return self._found[key]
        situation = self._situation(degree, others, number)
        entry, asked = self._entry(situation)
        self._found[degree, bool(others), asked] = entry
        return entry

    def has(self, degree: int, others: int = 0, number: int | None = None) -> bool:
        """Whether it is known already what is written at nodes of a degree."""
        return any((degree, bool(others), each) in self._found for each in (None, number))

    def keep(self, entries: Collection[KnownProgram]) -> None:
        """Forgets all others, which are recorded again if they are met."""
        self.entries = [entry for entry in self.entries if entry in entries]
        self._found = {met: entry for met, entry in self._found.items() if entry is None or entry in entries}

    def programs(self) -> dict[int, NodeProgram]:
        """Programs by the degrees that were met, of nodes that do not keep what they have."""
        return {degree: entry.program for (degree, others, _), entry in self._found.items() if entry and not others}

    def _situation(self, degree: int, others: int, number: int | None) -> Situation:
        """The situation of nodes of a degree."""
        kind = None if self.by is None or number is None else NodeKind(self.by, number)
        if degree == 0 and not others:
            return Situation(self.given, 0, kind=kind)
        if self.has_leaves and self._leaf is None:
            self.entry(0, 0, number)
        if others:
            self.entry(others, 0, number)
        given = dict(self.given)
        if self.has_leaves and self._leaf is not None:
            given |= self._leaf
        asked = None if (others, None) in self._reduced else number
        zeros = self._reduced[others, asked] if others else None
        return Situation(given, degree, zeros, kind)

    def _entry(self, situation: Situation) -> tuple[KnownProgram | None, int | None]:
        """What is known of a situation, and the number that all nodes have, if functions asked for it."""
        functions = self.functions
        degree = situation.degree
        assert functions is not None
        if degree == 0 and not situation.zeros and functions.apply is None and not functions.reduces_all:
            return None, None
        if degree > MOST_MESSAGES:
            raise NotAProgramError(f"a node has {degree:,} messages; compiled programs take at most {MOST_MESSAGES:,}")
        recording = self._record(self._probed_rows[0], situation)
        self._check_fields(recording, situation)
        self._check_kinds(recording, situation)
        entry = next((known for known in self.entries if known.holds_for(recording)), None)
        if entry is None:
            entry = self._new_entry(recording, situation)
            self._check_size(entry, recording)
        is_first = not degree and not situation.zeros and not self.has_late_leaves and self.by is None
        if not is_first:  # later frontiers have what this one writes, with 0
            situation = self._with_fields(entry, situation, recording.kinds)
        asked = situation.kind.number if situation.kind and recording.asks_kind else None
        entry.situations.setdefault(asked, situation)
        if entry not in self.entries:
            self.entries.append(entry)
        return entry, asked

    def _with_fields(self, entry: KnownProgram, situation: Situation, fields: Mapping[str, Kind]) -> Situation:
        """A situation with more fields. Refuses functions that do something else where these are."""
        new = {name: kind for name, kind in fields.items() if name not in situation.nodes}
        if not new:
            return situation
        later = situation._replace(nodes={**situation.nodes, **new})
        if not entry.holds_for(self._record(self._probed_rows[0], later)):
            raise NotAProgramError(f"the functions compute something else if the field {min(new)!r} exists")
        return later

    def show_fields_of_others(self, entries: Sequence[KnownProgram]) -> None:
        """Refuses functions that ask for a field which nodes with another number write, and they do not."""
        for entry in entries if self.by is not None else []:
            for asked, situation in entry.situations.items():
                entry.situations[asked] = self._with_fields(entry, situation, self.written)

    def _check_size(self, entry: KnownProgram, recording: Recording) -> None:
        """Refuses what takes long to compile."""
        forms = {known.program.form for known in (*self.entries, entry)}
        why = next((f": {reason}" for reason in self._one_by_one.values()), _asked(recording))
        if len(forms) > MOST_PROGRAMS:
            numbers = "numbers of messages" if self.by is None else f"numbers of messages and values of {self.by!r}"
            raise NotAProgramError(f"more than {MOST_PROGRAMS} programs for different {numbers}{why}")
        check_values([entry.program], why)

    def _new_entry(self, recording: Recording, situation: Situation) -> KnownProgram:
        """A program for a recording, for all degrees if it can be."""
        why = None
        alike = next((known for known in self.entries if known.is_like(recording)), None)
        entry = None if alike is None else alike.with_tensors_of(recording)
        if entry is None and recording.degree:
            entry, why = self._for_any_degree(recording, situation)
        if entry is None:
            entry = self._for_one_degree(recording, situation, why)
        for rows in ROWS_TRIED if recording.degree <= 16 else FEWER_ROWS_TRIED:
            if not entry.holds_for(self._record(rows, situation)):
                raise NotAProgramError(
                    f"the functions compute something else for a different number of nodes{_asked(recording)}"
                )
        return entry

    def _record(self, rows: int, situation: Situation) -> Recording:
        """A recording. What the functions raise at made-up nodes is a reason like others."""
        assert self.functions is not None
        try:
            return record(self.functions, situation, self.edges, rows)
        except NotAProgramError:
            raise
        except Exception as error:
            text = str(error).splitlines()[0] if str(error) else ""
            raise NotAProgramError(
                f"the functions raise {type(error).__name__} on random test nodes: {text}"
            ) from error

    def _for_any_degree(
        self, recording: Recording, situation: Situation
    ) -> tuple[KnownProgram | None, NotAProgramError | None]:
        """The program for whatever degree that a recording is one of; or none, and the reason if it has a line."""
        # Two numbers of nodes and two degrees: the four corners show which numbers follow these counts, and how.
        low, high = (situation._replace(degree=degree) for degree in self._probed_degrees(recording.degree))
        rows, more_rows = self._probed_rows
        try:
            corner = self._record(rows, low)
            reason = self._one_by_one.get(corner.skeleton)
            if reason is not None:
                return None, NotAProgramError(reason)
            corners = [corner, self._record(rows, high), self._record(more_rows, low), self._record(more_rows, high)]
        except NotAProgramError as error:  # functions for some degrees alone
            return None, error
        followed = followed_numbers(corners)
        if followed is None or not all(_is_alike(corner, recording) for corner in corners):
            return None, None
        try:
            first = translate(corners[0], followed, by_child=False)
            last = translate(corners[-1], followed, by_child=False)
        except NotAProgramError as error:
            self._one_by_one[corners[0].skeleton] = str(error)
            return None, error
        entry = KnownProgram(first, corners[0], followed)
        if first.text() != last.text() or not entry.holds_for(recording):
            return None, None
        return entry, None

    def _for_one_degree(self, recording: Recording, situation: Situation, why: NotAProgramError | None) -> KnownProgram:
        """The program of a degree, with a loop over messages that are alike; others have values of their own each."""
        too_many = why or NotAProgramError(
            f"the functions treat {recording.degree} messages one by one{_asked(recording)}"
        )
        is_long = recording.degree > MOST_CHILDREN and len(recording.operations) > MOST_OPERATIONS
        if recording.degree > MOST_ALIKE or is_long:
            raise too_many
        other = self._record(self._probed_rows[1], situation)
        followed = followed_numbers([recording, recording, other, other])
        first = translate(recording, followed or {}, by_child=True)
        if followed is None or not _is_alike(other, recording):
            raise NotAProgramError(
                f"the functions compute something else for a different number of nodes{_asked(recording)}"
            )
        if translate(other, followed, by_child=True).text() != first.text():
            raise NotAProgramError(f"the result depends on the number of nodes{_asked(recording)}")
        program = rolled(first, recording.degree)
        if program.by_child and recording.degree > MOST_CHILDREN:
            raise too_many
        return KnownProgram(program, recording, followed)

    def _check_kinds(self, recording: Recording, situation: Situation) -> None:
        """Refuses functions that decide by very many numbers: each is recorded some times."""
        numbers = {number for _, _, number in self._found}
        if situation.kind:
            numbers.add(situation.kind.number)
        if recording.asks_kind and len(numbers - {None}) > MOST_KINDS:
            raise NotAProgramError(
                f"the field by={self.by!r} has more than {MOST_KINDS} different values, and each one needs its own "
                "program"
            )

    def _check_fields(self, recording: Recording, situation: Situation) -> None:
        """Refuses fields that depend on the degree: what a frontier writes would depend on who else is in it."""
        if not situation.degree and not situation.zeros:
            if self._leaf is None:
                self._leaf = recording.kinds
            if self._leaf.keys() != recording.kinds.keys():
                raise NotAProgramError(
                    f"nodes without messages write different fields for different values of {self.by!r}"
                )
        for name, kind in recording.kinds.items():
            known = self.given.get(name) or self.written.get(name, kind)
            if known != kind:
                raise NotAProgramError(
                    f"{name!r} is {kind} for nodes with {recording.degree} messages, but {known} for other nodes"
                )
            self.written[name] = kind
        if recording.degree:
            asked = situation.kind.number if situation.kind and recording.asks_kind else None
            for (_, number), reduced in self._reduced.items():
                if (number is None or asked is None or number == asked) and reduced != recording.reduced:
                    raise NotAProgramError(
                        f"reduce_func returns different fields for {recording.degree} messages than for other numbers "
                        "of messages"
                    )
            self._reduced[recording.degree, asked] = recording.reduced

    def _probed_degrees(self, degree: int) -> tuple[int, int]:
        """Two degrees that are no size of a field; above those of a program that does not hold for this one."""
        taken = any(entry.degree >= FIRST_PROBED for entry in self.entries)
        least = degree if taken or degree > FIRST_PROBED else FIRST_PROBED - 1
        sizes = {size for kind in (*self.given.values(), *self.edges.values()) for size in kind.shape}
        primes = (prime for prime in _primes_above(max(least, FIRST_PROBED - 1)) if prime not in sizes)
        return next(primes), next(primes)


def _primes_above(least: int) -> Iterator[int]:
    """Yield the primes above a number, in order."""
    for number in count(least + 1):
        if all(number % divisor for divisor in range(2, isqrt(number) + 1)):
            yield number


def _is_alike(recording: Recording, other: Recording) -> bool:
    """Whether two recordings have the same operations and tensors."""
    return recording.skeleton == other.skeleton and recording.holds(other.outside)


def _asked(recording: Recording) -> str:
    """The first line that asked about a count, for messages."""
    return next((f": {question.line}" for question in recording.questions if question.line is not None), "")
