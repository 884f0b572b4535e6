"""The mathematical functions: one record each. Reading, printing, arithmetic, judging and searching derive from it.

To add one, write its record into ``RECORDS`` and its name into docs/reading.md. A function that has a ``definition``
needs no more: its values, its bounds, the proofs about it, its inverse and its poles follow from those of its parts.
"""

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

Parity = Literal["", "even", "odd"]
Kind = Literal["", "exponential", "circular", "hyperbolic"]


class Use(enum.IntEnum):
    """How far into mathematics one meets a function."""

    RARE = 0
    KNOWN = 1
    COMMON = 2
    """At school: a search that finds nothing else tries all of these."""


class Cut(enum.Enum):
    """Where arguments of a function have their branch points and cuts."""

    NEGATIVE = "negative"
    """On the real line up to 0: logarithms, powers, and the bend of an absolute value."""
    OUTSIDE = "outside"
    """On the real line, from 1 or -1 on."""
    BELOW_ONE = "below one"
    """On the real line up to 1, with branch points at 1 and at -1."""
    UPRIGHT = "upright"
    """On the imaginary line, from i or -i on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MathFunction:
    """The properties of a function. Expressions are in strict infix, in ``x`` and, if they are values, in ``_``."""

    name: str
    """In trees and in strict infix."""
    arities: Collection[int] = (1,)
    kind: Kind = ""
    inverts: str = ""
    """The function of which this is the inverse, with its principal values; its kind is that of the other."""
    use: Use = Use.KNOWN

    spellings: Collection[str] = ()
    """Other names that people type. An inverse function is also spelled arc- and, in short, ar- and arg-."""
    short: str = ""
    """A spelling where an argument follows; elsewhere it is a name."""
    called: Collection[str] = ()
    """Spellings where a bracket with as many arguments follows; elsewhere they are names."""
    latex: str = ""
    """LaTeX's command, or what is around the arguments #1 and #2; ``\\operatorname`` if there is none."""
    sympy: str = ""
    """SymPy's class, if it has another name."""

    definition: str = ""
    """Definition by other functions, whose arithmetic it then has; 1/x is written x^(-1)."""
    exponential: str = ""
    """Definition by exp, log, roots and the imaginary unit ``i``, for proofs; without one ``definition`` is used."""
    numpy: str = ""
    """NumPy's function, if it has one, of real and of complex numbers."""
    flint: bool = False
    """Whether Arb has it by its name."""
    at: Mapping[int, int | None] = field(default_factory=dict)
    """Values that are exact: at 0 and the like; None at a pole."""
    derivative: str = ""
    """Up to a sign and a factor i, for bounds of rounding errors; of an inverse function a power of 1 ± x^2."""
    cut: Cut | None = None

    arguments: Collection[str] = ()
    """The arguments at which it has the value ``_``, branch by branch; those of a definition are worked out."""
    parity: Parity = ""
    never_zero: bool = False
    """At real arguments."""
    partner: str = ""
    """The other one of a pair: the cosine of a sine."""
    relatives: Collection[str] = ()
    """Functions that are in one equation with it."""


_COMMON, _RARE = Use.COMMON, Use.RARE
_ODD: Mapping[int, int | None] = {0: 0}
_ROOT, _ROOT_UP = "(1 - x^2)^(-1/2)", "(1 + x^2)^(-1/2)"

RECORDS: tuple[MathFunction, ...] = (
    MathFunction(
        name="exp", kind="exponential", use=_COMMON, latex="e^{#1}", numpy="exp", flint=True, arguments=("log(_)",),
        never_zero=True, relatives=("log",),
    ),
    MathFunction(
        name="log", inverts="exp", use=_COMMON, arities=(1, 2), spellings=("ln",),
        cut=Cut.NEGATIVE,
    ),
    MathFunction(
        name="sqrt", use=_COMMON, relatives=("abs",),
        called=("raiz", "raíz", "racine", "wurzel", "Wurzel", "Raiz", "Raíz", "Racine"),
    ),
    MathFunction(
        name="abs", use=_COMMON, latex="\\left|#1\\right|", sympy="Abs", cut=Cut.NEGATIVE, arguments=("_", "-_"),
        parity="even", relatives=("sqrt",),
    ),
    MathFunction(name="factorial", called=("fact", "FACT"), never_zero=True),
    MathFunction(
        name="binomial", arities=(2,), latex="\\binom{#1}{#2}",
        called=("binom", "comb", "combin", "COMBIN", "choose", "nCr"),
    ),
    # circular
    MathFunction(
        name="sin", kind="circular", use=_COMMON, spellings=("sen",), latex="\\sin", numpy="sin", flint=True, at=_ODD,
        exponential="((exp(i*x) - 1/exp(i*x))/2)/i", derivative="cos(x)", arguments=("asin(_)", "pi - asin(_)"),
        parity="odd", partner="cos", relatives=("cos", "tan"),
    ),
    MathFunction(
        name="cos", kind="circular", use=_COMMON, latex="\\cos", numpy="cos", flint=True,
        exponential="(exp(i*x) + 1/exp(i*x))/2", derivative="sin(x)", arguments=("acos(_)", "-acos(_)"),
        parity="even", partner="sin", relatives=("sin", "tan"),
    ),
    MathFunction(
        name="tan", kind="circular", use=_COMMON, spellings=("tg",), latex="\\tan", definition="sin(x)/cos(x)",
        numpy="tan", flint=True, at=_ODD, arguments=("atan(_)",), parity="odd", partner="cot", relatives=("sec",),
    ),
    MathFunction(
        name="cot", kind="circular", spellings=("ctg", "cotg", "cotan"), latex="\\cot", definition="cos(x)/sin(x)",
        arguments=("atan(1/_)",), parity="odd", partner="tan", relatives=("tan", "csc"),
    ),
    MathFunction(
        name="sec", kind="circular", latex="\\sec", definition="cos(x)^(-1)", parity="even", partner="csc",
        relatives=("tan", "cos"),
    ),
    MathFunction(
        name="csc", kind="circular", spellings=("cosec",), latex="\\csc", definition="sin(x)^(-1)", parity="odd",
        partner="sec", relatives=("cot", "sin"),
    ),
    MathFunction(
        name="asin", inverts="sin", use=_COMMON, latex="\\arcsin", numpy="arcsin", flint=True, at=_ODD,
        exponential="-(i*log(i*x + sqrt(1 - x^2)))", derivative=_ROOT, cut=Cut.OUTSIDE, arguments=("sin(_)",),
        parity="odd", relatives=("acos", "atan", "sqrt"),
    ),
    MathFunction(
        name="acos", inverts="cos", use=_COMMON, latex="\\arccos", numpy="arccos", flint=True,
        exponential="pi/2 - asin(x)", derivative=_ROOT, cut=Cut.OUTSIDE, arguments=("cos(_)",),
    ),
    MathFunction(
        name="atan", inverts="tan", use=_COMMON, latex="\\arctan", numpy="arctan", flint=True, at=_ODD,
        exponential="i*(log(1 - i*x) - log(1 + i*x))/2", derivative="(1 + x^2)^(-1)", cut=Cut.UPRIGHT,
        arguments=("tan(_)",), parity="odd",
    ),
    MathFunction(name="acot", inverts="cot", latex="\\operatorname{arccot}", definition="atan(x^(-1))"),
    MathFunction(name="asec", inverts="sec", latex="\\operatorname{arcsec}", definition="acos(x^(-1))"),
    MathFunction(name="acsc", inverts="csc", latex="\\operatorname{arccsc}", definition="asin(x^(-1))"),
    # hyperbolic
    MathFunction(
        name="sinh", kind="hyperbolic", use=_COMMON, spellings=("senh",), short="sh", latex="\\sinh", numpy="sinh",
        flint=True, at=_ODD,
        exponential="(exp(x) - 1/exp(x))/2", derivative="cosh(x)", arguments=("asinh(_)",), parity="odd",
        partner="cosh", relatives=("cosh", "tanh", "exp"),
    ),
    MathFunction(
        name="cosh", kind="hyperbolic", use=_COMMON, short="ch", latex="\\cosh", numpy="cosh", flint=True,
        exponential="(exp(x) + 1/exp(x))/2", derivative="sinh(x)", arguments=("acosh(_)", "-acosh(_)"),
        parity="even", never_zero=True, partner="sinh", relatives=("sinh", "tanh", "exp"),
    ),
    MathFunction(
        name="tanh", kind="hyperbolic", use=_COMMON, short="th", latex="\\tanh", definition="sinh(x)/cosh(x)",
        numpy="tanh", flint=True, at=_ODD, arguments=("atanh(_)",), parity="odd",
    ),
    MathFunction(
        name="coth", kind="hyperbolic", use=_RARE, short="cth", latex="\\coth", definition="cosh(x)/sinh(x)",
        arguments=("atanh(1/_)",), parity="odd",
    ),
    MathFunction(
        name="sech", kind="hyperbolic", use=_RARE, definition="cosh(x)^(-1)", parity="even",
        relatives=("tanh", "cosh"),
    ),
    MathFunction(
        name="csch", kind="hyperbolic", use=_RARE, definition="sinh(x)^(-1)", parity="odd",
        relatives=("coth", "sinh"),
    ),
    MathFunction(
        name="asinh", inverts="sinh", latex="\\operatorname{arsinh}", numpy="arcsinh", flint=True, at=_ODD,
        exponential="log(x + sqrt(x^2 + 1))", derivative=_ROOT_UP, cut=Cut.UPRIGHT, arguments=("sinh(_)",),
        parity="odd", relatives=("acosh", "atanh", "log", "sqrt"),
    ),
    MathFunction(
        name="acosh", inverts="cosh", latex="\\operatorname{arcosh}", numpy="arccosh", flint=True,
        exponential="log(x + sqrt(x + 1)*sqrt(x - 1))", derivative=_ROOT, cut=Cut.BELOW_ONE, arguments=("cosh(_)",),
    ),
    MathFunction(
        name="atanh", inverts="tanh", latex="\\operatorname{artanh}", numpy="arctanh", flint=True,
        at={0: 0, 1: None, -1: None}, exponential="(log(1 + x) - log(1 - x))/2", derivative="(1 - x^2)^(-1)",
        cut=Cut.OUTSIDE, arguments=("tanh(_)",), parity="odd",
    ),
    MathFunction(
        name="acoth", inverts="coth", use=_RARE, latex="\\operatorname{arcoth}", definition="atanh(x^(-1))"
    ),
    MathFunction(
        name="asech", inverts="sech", use=_RARE, latex="\\operatorname{arsech}", definition="acosh(x^(-1))"
    ),
    MathFunction(
        name="acsch", inverts="csch", use=_RARE, latex="\\operatorname{arcsch}", definition="asinh(x^(-1))"
    ),
)  # fmt: skip
"""All functions; common ones in the order in which they come in a product."""

BY_NAME: Mapping[str, MathFunction] = {record.name: record for record in RECORDS}
INVERSE: Mapping[str, str] = {record.inverts: record.name for record in RECORDS if record.inverts}
"""The inverse function of a function."""


def kind_of(record: MathFunction) -> Kind:
    """The kind of a function, or of the one that it inverts."""
    return BY_NAME[record.inverts].kind if record.inverts else record.kind


def names(*kinds: Kind, inverse: bool | None = None, least: Use = Use.RARE) -> tuple[str, ...]:
    """The names of functions in the order of the table.

    Args:
        kinds: of the functions, or of what they invert; none: all.
        inverse: whether they are inverse functions; None: either.
        least: how common they are.
    """
    return tuple(
        record.name
        for record in RECORDS
        if record.use >= least
        and (not kinds or kind_of(record) in kinds)
        and (inverse is None or inverse == bool(record.inverts))
    )
