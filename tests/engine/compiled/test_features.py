"""What people write becomes programs: each feature has the states and gradients of torch's operations, or a reason."""

from functools import cache

import pytest
from features import FEATURES, Feature, Outcome, largest_difference, outcome, reason

COMPILED = [name for name, feature in FEATURES.items() if feature.kind in ("any degree", "by child", "both")]


@cache
def interpreted(name: str) -> Outcome:
    return outcome(FEATURES[name], "interpreter")


@pytest.mark.parametrize("name", COMPILED)
def test_a_feature_has_the_states_and_gradients_of_torchs_operations(name: str) -> None:
    found, expected = interpreted(name), outcome(FEATURES[name], "off")
    assert largest_difference(found.states, expected.states) < 1e-12
    assert largest_difference(found.gradients, expected.gradients) < 1e-11


@pytest.mark.parametrize("name", COMPILED)
def test_one_program_holds_for_all_degrees_unless_single_messages_are_read(name: str) -> None:
    catalogue = interpreted(name).catalogue
    assert catalogue is not None
    kinds = {program.by_child for degree, program in catalogue.programs().items() if degree}
    assert kinds == {"any degree": {False}, "by child": {True}, "both": {False, True}}[FEATURES[name].kind]


@pytest.mark.parametrize("name", [name for name in FEATURES if name not in COMPILED])
def test_what_is_no_program_is_refused_with_the_reason_and_the_line(name: str) -> None:
    feature: Feature = FEATURES[name]
    assert feature.kind in reason(feature)
    assert "features.py:" in reason(feature)
