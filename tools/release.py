"""Make a release: ``python tools/release.py make 0.2.0``.

It asks for a clean working tree, writes the version into ``src/plugplay/__init__.py`` (the only place that has it) and
``CITATION.cff``, dates the section of the changelog, builds sdist and wheel, installs the wheel in an environment of
its own and restores an image with it, commits and tags. If a step fails, the files are put back and nothing is
committed. Nothing is pushed: ``git push --follow-tags`` does that, and the workflow publishes what is tagged.
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION_FILE, CHANGELOG, CITATION = "src/plugplay/__init__.py", "CHANGELOG.md", "CITATION.cff"

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:\.dev(\d+)|rc(\d+))?")


class ReleaseError(Exception):
    """Something that has to be put right before a release."""


def order(version: str) -> tuple[int, int, int, float]:
    """Return a key that sorts versions.

    Examples
    --------
    >>> order("0.2.0.dev0") < order("0.2.0rc1") < order("0.2.0") < order("0.10.0")
    True
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        raise ReleaseError(f"{version!r} is not a version like 0.2.0, 0.2.0rc1 or 0.3.0.dev0")
    major, minor, patch, dev, candidate = match.groups()
    stage = -1e6 + int(dev) if dev is not None else -1e3 + int(candidate) if candidate is not None else 0.0
    return int(major), int(minor), int(patch), stage


def current(source: str) -> str:
    """Return the version that a module's source declares."""
    match = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    if match is None:
        raise ReleaseError(f"{VERSION_FILE} has no line __version__ = ...")
    return match[1]


def bumped(source: str, version: str) -> str:
    """Return the source with another version, which must be a later one.

    Examples
    --------
    >>> bumped('__version__ = "0.2.0.dev0"', "0.2.0")
    '__version__ = "0.2.0"'
    """
    before = current(source)
    if order(version) <= order(before):
        raise ReleaseError(f"{version} is not later than {before}")
    return source.replace(f'__version__ = "{before}"', f'__version__ = "{version}"')


def dated(changelog: str, version: str, day: datetime.date) -> str:
    """Return the changelog with the section that is unreleased under its version and date.

    Examples
    --------
    >>> text = chr(10).join(["## Unreleased (0.2.0)", "- One."])
    >>> print(dated(text, "0.2.0", datetime.date(2026, 11, 16)))
    ## 0.2.0 (2026-11-16)
    - One.
    """
    headings = re.findall(r"^## Unreleased.*$", changelog, re.MULTILINE)
    if len(headings) != 1:
        raise ReleaseError(f"{CHANGELOG} must have one heading '## Unreleased'; found {len(headings)}")
    result = changelog.replace(headings[0], f"## {version} ({day.isoformat()})")
    if not notes(result, version):
        raise ReleaseError(f"{CHANGELOG} says nothing under {headings[0]!r}")
    return result


def notes(changelog: str, version: str) -> str:
    """Return what the changelog says about a version, without its heading."""
    match = re.search(rf"^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return "" if match is None else match[1].strip()


def cited(citation: str, version: str, day: datetime.date) -> str:
    """Return CITATION.cff with another version and its date."""
    citation = re.sub(r"^date-released: .*\n", "", citation, flags=re.MULTILINE)
    result, count = re.subn(
        r"^version: .*$", f"version: {version}\ndate-released: {day.isoformat()}", citation, flags=re.MULTILINE
    )
    if count != 1:
        raise ReleaseError(f"{CITATION} must have one line 'version: ...'; found {count}")
    return result


def check_wheel(folder: Path) -> None:
    """Install the wheel in `folder` in a clean environment, and restore an image with it."""
    wheels = sorted(folder.glob("plugplay-*.whl"))
    if len(wheels) != 1:
        raise ReleaseError(f"{folder} must hold one wheel of plugplay; found {[wheel.name for wheel in wheels]}")
    with tempfile.TemporaryDirectory(prefix="plugplay-release-") as name:
        place = Path(name)
        venv.create(place / "venv", with_pip=True)
        binaries = place / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        python = binaries / "python"
        _run(python, "-m", "pip", "install", "--quiet", wheels[0].resolve(), place=place)
        _run(python, "-m", "pip", "check", place=place)
        said = _run(binaries / "plugplay", "--version", place=place)
        version = wheels[0].name.split("-")[1]
        if version not in said:
            raise ReleaseError(f"the wheel is {version}, and the command says {said.strip()!r}")
        _run(binaries / "plugplay", "demo", "--out", place / "demo", place=place)
        _run(python, ROOT / ".ci" / "restore_one_file.py", place=place)


def make(version: str, *, root: Path = ROOT, day: datetime.date | None = None, tag: bool = True) -> None:
    """Make a release of what is checked out at `root`."""
    when = day or datetime.datetime.now(datetime.UTC).date()
    if _run("git", "status", "--porcelain", place=root):
        raise ReleaseError("the working tree has changes: commit or remove them first")
    if _run("git", "tag", "--list", f"v{version}", place=root):
        raise ReleaseError(f"there is a tag v{version} already")
    texts = {name: (root / name).read_text(encoding="utf-8") for name in (VERSION_FILE, CHANGELOG, CITATION)}
    changed = {
        VERSION_FILE: bumped(texts[VERSION_FILE], version),
        CHANGELOG: dated(texts[CHANGELOG], version, when),
        CITATION: cited(texts[CITATION], version, when),
    }
    try:
        for name, text in changed.items():
            (root / name).write_text(text, encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="plugplay-dist-") as name:
            _run(sys.executable, "-m", "build", "--outdir", name, ".", place=root)
            check_wheel(Path(name))
            for built in Path(name).iterdir():
                (root / "dist").mkdir(exist_ok=True)
                (root / "dist" / built.name).write_bytes(built.read_bytes())
    except BaseException:
        for name, text in texts.items():
            (root / name).write_text(text, encoding="utf-8")
        raise
    if not tag:
        return
    _run("git", "commit", "--quiet", "--message", f"Release {version}", "--", *changed, place=root)
    message = f"plugplay {version}\n\n{notes(changed[CHANGELOG], version)}"
    # Headings of the notes begin with what git takes for a comment.
    _run("git", "tag", "--annotate", "--cleanup=whitespace", "--message", message, f"v{version}", place=root)


def _run(*command: object, place: Path) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(words[:4])} … failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="bump, date, build, check, commit and tag")
    making.add_argument("version")
    making.add_argument("--no-tag", action="store_true", help="leave the changed files; neither commit nor tag")
    checking = commands.add_parser("check-wheel", help="install the wheel in a folder and restore an image with it")
    checking.add_argument("folder", type=Path)
    given = parser.parse_args()
    try:
        if given.command == "make":
            make(given.version, tag=not given.no_tag)
        else:
            check_wheel(given.folder)
    except ReleaseError as error:
        sys.exit(f"release: {error}")


if __name__ == "__main__":
    main()
