"""The parser of a command's options: one look for the help of all commands."""

import argparse


def option_parser(name: str, description: str, examples: str, usage: str | None = None) -> argparse.ArgumentParser:
    """Of ``dgltree NAME``, without options yet; ``usage`` is what follows the name, where argparse's is too long."""
    return argparse.ArgumentParser(
        prog=f"dgltree {name}",
        usage=usage and f"dgltree {name} {usage}",
        description=description,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
