"""Reader of what people type, more tolerant than the strict notation of infix.py."""

from dgltree.equations.typed.question import Question, read_question, read_steps
from dgltree.equations.typed.reader import Typed, read_noted_expression, read_typed, read_typed_expression

__all__ = [
    "Question",
    "Typed",
    "read_noted_expression",
    "read_question",
    "read_steps",
    "read_typed",
    "read_typed_expression",
]
