"""The names of the scales of labels, for options that are checked before torch is imported."""

from typing import Literal

LabelScaleName = Literal["none", "log", "asinh", "rank"]
