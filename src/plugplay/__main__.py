"""``python -m plugplay``."""

from plugplay.cli import main

if __name__ == "__main__":
    main()
