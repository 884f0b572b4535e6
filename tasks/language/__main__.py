"""The command: ``python -m tasks.language COMMAND``.

``fit``, ``validate`` and ``test`` with ``--config FILE`` (see configs/) train and measure a language model; ``parse``
scores the trees that the model induces, ``baselines`` trees that ignore the words. ``syntax`` tests grammar, and
``curves`` draws perplexity and F1 over the epochs.
"""

import sys

from tasks.language import cli, curves, syntax, trees

OWN = {"parse": trees.main, "baselines": trees.main, "syntax": syntax.main, "curves": curves.main}
"""Commands in addition to those of Lightning."""


def main(arguments: list[str]) -> None:
    """Run the program's command line; what it refuses ends it with one line."""
    name = (arguments or [""])[0]
    rest = arguments[1:]
    if name not in OWN:
        cli.main(arguments)
        return
    try:
        OWN[name](name, rest)
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
