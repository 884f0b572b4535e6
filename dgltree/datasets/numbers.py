"""Texts that are numbers: the same ones for leaves and for labels."""

import re
from math import isfinite

import torch

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
LARGEST = torch.finfo(torch.float32).max


def number(text: str) -> float | None:
    """The finite number that a text is written as, None where it is none: ``nan``, ``inf`` and ``1_000`` are words."""
    return float(text) if NUMBER.fullmatch(text) and isfinite(float(text)) else None


def label_number(text: str) -> float | None:
    """The same for what is to be predicted, which float32 has to hold."""
    value = number(text)
    return value if value is not None and -LARGEST <= value <= LARGEST else None
