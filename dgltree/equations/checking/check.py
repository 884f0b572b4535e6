"""``dgltree.check``: whether an answer to an equation with a blank is right, and in the form that was asked for."""

from collections.abc import Collection

from dgltree.equations.checking.checker import Checker
from dgltree.equations.checking.marks import Checked, Mark
from dgltree.equations.checking.timed import MarkingTask, mark_within
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree

__all__ = ["Checker", "Mark", "check"]


def check(
    equation: str | Equation,
    answer: str | Tree,
    form: str | None = None,
    names: Collection[str] = (),
    rounded: bool | int = False,
    mixed: bool = False,
    units: bool = False,
    significant: int | None = None,
    decimal: str | None = None,
    seconds: float | None = None,
    assume: Collection[str] = (),
) -> Checked:
    """Mark an answer: ``check("x^2 - 9 = _", "(x - 3)(x + 3)", form="factored")``.

    Examples:
        >>> import dgltree
        >>> print(dgltree.check("x^2 - 9 = _", "(x - 3)(x + 3)", form="factored"))
        right: holds everywhere (proved)
        >>> dgltree.check("x^2 - 9 = _", "(x - 3)^2").mark
        <Mark.WRONG: 'wrong'>
        >>> dgltree.check("x^2 = 4, x = _", "2; 5").counts
        SolutionCounts(right=1, given=2, required=2)

    Args:
        equation: with a blank or several, or with an unknown (``x^2 = 16, x = _``), as a person types it; or read
            already.
        answer: what is put into the blank; for several blanks ``"2, 3"``, in the order of the blanks.
        form: ``expanded``, ``factored``, ``lowest-terms``, ``one-fraction``, ``exact``, or None for any.
        names: runs of letters that are one name; others are products, as :func:`dgltree.complete` has it.
        rounded: whether a decimal is right that is the value rounded to its digits; or to how many places behind the
            point it has to be rounded.
        mixed: whether ``2 1/2`` is 2 + 1/2; else it is refused, as it can be a product.
        units: whether names after numbers are units, compared by pint (the extra ``units``); else they are refused.
        significant: to how many significant digits a value has to be rounded.
        decimal: ``comma`` or ``point``, the mark of decimals in the question and in answers; None: that of the
            decimals in the question. If that has none, what can mean two numbers is refused.
        assume: of the variables, as ``["T > 0", "x in [0, 2π)"]``; what is right there is right, and a solution that
            is elsewhere is wrong.
        seconds: that an answer may take, in a further process, which is ended then: the mark is ``out-of-time``. The
            equation and the answer have to be texts.

    An answer is right if it makes the equation true wherever the rest of the equation has a real value. If an
    unknown is asked for, it lists all real solutions: ``"2, 3"``, ``"x = 2 or x = 3"``, ``"±2"``, ``"no solution"``.

    Raises ``ValueError`` for a text that cannot be read, for an equation without a blank, and for an unknown form.
    :meth:`dgltree.equations.checking.checker.Checker.mark` has marks for these, too.

    See also: :func:`dgltree.complete` for the answer, :func:`dgltree.distractors` for wrong ones.
    """
    if seconds is None:
        return Checker(equation, form, names, rounded, mixed, units, significant, decimal, assume).check(answer)
    if not isinstance(equation, str) or not isinstance(answer, str):
        raise ValueError("a time limit is only for texts; trees are marked without one")
    settings = {"form": form, "names": tuple(names), "rounded": rounded, "mixed": mixed, "units": units}
    settings |= {"significant": significant, "decimal": decimal, "assume": tuple(assume)}
    found = mark_within(MarkingTask(equation, answer, tuple(settings.items())), seconds)
    if found.mark in (Mark.UNREADABLE, Mark.NOT_ASKED):
        raise ValueError(found.error)
    return found
