"""``python -m tasks.sentiment fit --config FILE`` (see configs/) trains; ``vectors`` makes word vectors for it."""

import sys

from tasks import fit_cli
from tasks.sentiment import vectors
from tasks.sentiment.data import SentimentTreebank
from tasks.trainings import ORDERED_MEMORY

DEFAULTS = {**ORDERED_MEMORY, "hidden_size": 150, "eps": 1e-8, "weight_decay": 1e-5, "batch_size": 25, "halve_after": 0}
"""Settings of Tai et al. 2015, with Adam."""


def main(arguments: list[str]) -> None:
    """Run the program's command line; what it refuses ends it with one line."""
    if arguments[:1] != ["vectors"]:
        fit_cli.run_task("sentiment", SentimentTreebank, {**DEFAULTS, "input_size": None}, arguments)
        return
    try:
        vectors.main(arguments[1:])
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
