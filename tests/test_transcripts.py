"""How a page is compared with what its commands print."""

from transcripts import differences


def test_effects_may_differ_and_ranks_and_subtrees_may_not() -> None:
    shown = ["1\t+90.5\t+9.26\t2", "    +90.5  [1]     2"]
    assert differences(shown, ["1\t+99.7\t+13.28\t2", "    -99.7  [1]     2"]) == []
    assert differences(shown, ["1\t+90.5\t+9.26\t3", "    +90.5        2"]) != []


def test_the_peak_memory_of_reading_is_not_compared() -> None:
    found = "9 nodes in 0.1 s, 90 a second; peak memory 1,413 MB, 1,411 MB in each reading process"
    assert differences(["9 nodes in 1.1 s, 8 a second; peak memory 261 MB"], [found]) == []


def test_a_line_that_differs_in_words_or_numbers_is_found() -> None:
    found = ["3 trees in 1.5 s", "accuracy 0.91", "a", "b"]
    assert differences(["3 trees in 9.0 s", "accuracy ~0.93", "...", "b"], found) == []
    assert differences(["3 trees in 9.0 s", "accuracy ~0.95", "...", "b"], found) != []
    assert differences(["4 trees in 1.5 s", "accuracy 0.92", "a"], found) == [
        "'4 trees in 1.5 s', and printed is '3 trees in 1.5 s'",
        "'accuracy 0.92', and printed is 'accuracy 0.91'",
        "'b' is printed, too",
    ]
