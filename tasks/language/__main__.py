"""The command: ``python -m tasks.language fit|validate|test --config FILE``; see configs/."""

from tasks.language.cli import main

if __name__ == "__main__":
    main()
