"""The command: ``python -m tasks.sentiment COMMAND``.

``fit``, ``validate`` and ``test`` with ``--config FILE`` (see configs/) train and measure a classifier; ``vectors``
makes word vectors for it.
"""

import sys

from tasks.sentiment import cli, vectors


def main(arguments: list[str]) -> None:
    """Run the program's command line; what it refuses ends it with one line."""
    if arguments[:1] != ["vectors"]:
        cli.main(arguments)
        return
    try:
        vectors.main(arguments[1:])
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main(sys.argv[1:])
