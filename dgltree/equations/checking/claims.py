"""Answers that name no solution one by one: there is none, all numbers are some, or all but a few."""

from collections.abc import Sequence

from dgltree.equations.checking.answer_key import AnswerKey
from dgltree.equations.checking.marks import Checked, Mark
from dgltree.equations.checking.sentences import Cause
from dgltree.equations.checking.solution_lists import ALL, Claim
from dgltree.equations.truth.judge import Judge
from dgltree.equations.truth.verdict import Domain, Grade, Verdict
from dgltree.read.infix_writer import write_infix
from dgltree.read.typed import read_typed_expression
from dgltree.trees.equation import Equation
from dgltree.trees.tree import Tree


def mark_claim(claim: Claim, text: str, key: AnswerKey, judge: Judge) -> Checked:
    """The mark of an answer that there is no solution, or that all numbers are some.

    Raises ``ValueError`` for an equation without an unknown.
    """
    verdict = _of_the_unknown(text, key, judge)
    known = verdict.grade is not Grade.UNDECIDED
    if claim is ALL:
        if _is_all(verdict) and verdict.conditions:
            return _on_a_part(text, verdict)
        mark = Mark.RIGHT if _is_all(verdict) else Mark.WRONG if known else Mark.UNDECIDED
        return Checked(text, mark, verdict)
    if key.excludes_all:
        return Checked(text, Mark.RIGHT, verdict, cause=Cause("right-none-assumed"))
    if key.solutions is not None and key.solutions.are_none:
        basis = "proved" if key.solutions.is_proved else "digits"
        return Checked(text, Mark.RIGHT, verdict, cause=Cause("right-none", {"basis": basis}))
    if verdict.domain is not Domain.NONE and known:
        return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-claim", {"verdict": verdict.short}))
    if key.solutions is None and verdict.domain is Domain.NONE and verdict.only:
        return Checked(text, Mark.RIGHT, verdict, cause=Cause("right-none", {"basis": "proved"}))
    if (solved := key.a_real_one) is not None:
        solution = f"{key.asked.unknown} = {write_infix(solved)}"
        return Checked(text, Mark.WRONG, verdict, cause=Cause("wrong-none", {"solution": solution}))
    return Checked(text, Mark.UNDECIDED, verdict, cause=Cause("undecided-none"))


def mark_all_but(left_out: Sequence[Checked], text: str, key: AnswerKey, judge: Judge) -> Checked:
    """The mark of an answer that all numbers are solutions but these, whose marks as solutions are given.

    Raises ``ValueError`` for an equation without an unknown.
    """
    verdict = _of_the_unknown(text, key, judge)
    if not _is_all(verdict):
        return Checked(text, Mark.WRONG if verdict.grade is not Grade.UNDECIDED else Mark.UNDECIDED, verdict)
    unknown = key.asked.unknown
    if solved := next((one for one in left_out if one.mark is Mark.RIGHT), None):
        solution = f"{unknown} = {solved.answer}"
        cause = Cause("incomplete-excluded", {"solution": solution})
        return Checked(text, Mark.INCOMPLETE, verdict, cause=cause, missing=(solution,))
    given = [read_typed_expression(one.answer, ()) for one in left_out]
    if all(_is_among(condition.partition(f"{unknown} = ")[2], given, judge) for condition in verdict.conditions):
        return Checked(text, Mark.RIGHT, verdict)
    return _on_a_part(text, verdict)


def _of_the_unknown(text: str, key: AnswerKey, judge: Judge) -> Verdict:
    if key.asked.unknown is None:
        raise ValueError(f"'{text}' answers an equation with an unknown, as x^2 = 16, x = _; this one has a blank")
    return judge.verdict(key.whole)


def _is_all(verdict: Verdict) -> bool:
    return verdict.domain in (Domain.EVERYWHERE, Domain.REALS)


def _on_a_part(text: str, verdict: Verdict) -> Checked:
    return Checked(text, Mark.PART, verdict, cause=Cause("part-claim", {"place": verdict.place}))


def _is_among(value: str, given: Sequence[Tree], judge: Judge) -> bool:
    """Whether a number is one of these; empty of a condition that is not ``x = `` and a number."""
    return bool(value) and any(judge.verdict(Equation(read_typed_expression(value, ()), tree)).holds for tree in given)
