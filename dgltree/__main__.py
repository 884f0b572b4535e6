"""``python -m dgltree``: the command without its script."""

import sys

from dgltree.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
