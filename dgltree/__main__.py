"""``python -m dgltree``: the command without its script."""

from dgltree.commands.main import console

if __name__ == "__main__":
    console()
