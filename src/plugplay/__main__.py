"""``python -m plugplay``: the command line."""

from plugplay.cli import main

if __name__ == "__main__":
    main()
