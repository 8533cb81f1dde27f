"""Print the least version of each dependency that ``pyproject.toml`` declares, as constraints for pip."""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def minima(project: Path = PROJECT) -> list[str]:
    """Return lines such as ``numpy==1.26``; a dependency without a least version is an error."""
    lines = []
    for requirement in tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]:
        parts = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9.]+)", requirement)
        if parts is None:
            raise ValueError(f"{requirement!r} does not say its least version as name>=version")
        lines.append(f"{parts[1]}=={parts[2]}")
    return lines


if __name__ == "__main__":
    sys.stdout.write("\n".join(minima()) + "\n")
