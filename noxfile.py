#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The tasks of this project: ``nox -l`` lists them, ``nox`` runs what a change must pass."""

from __future__ import annotations

from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"

NIGHTLY = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
# What the whole suite reaches, lines and branches together, may not fall below this.
MIN_COVERAGE = 80
ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1"}


@nox.session
def lint(session: nox.Session) -> None:
    """Look for mistakes, and for lines that are not formatted."""
    session.install("ruff>=0.8")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check the types strictly."""
    session.install(".[dev]")
    session.run("mypy")


@nox.session
def spelling(session: nox.Session) -> None:
    """Look for misspelt words."""
    session.install("codespell>=2.4")
    session.run("codespell")


@nox.session(default=False)
def review(session: nox.Session) -> None:
    """Compare the repository with the guide of the Scientific Python project."""
    session.install("sp-repo-review[cli]")
    session.run("repo-review", ".")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests on all cores; give a path after ``--`` for some of them."""
    session.install(".[test]")
    session.run("pytest", "-n", "auto", *session.posargs, env=ENVIRONMENT)


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Run all tests and report which lines and branches they reach; fails below the floor."""
    session.install("-e", ".[test]", "pytest-cov>=5")
    report = ("--cov", "--cov-report=term:skip-covered", "--cov-report=xml", f"--cov-fail-under={MIN_COVERAGE}")
    # Without Numba's compiler, compiled functions would run as Python: slow, but counted. With it they are not seen,
    # and are left out in pyproject.toml.
    session.run("pytest", "-n", "auto", *report, *session.posargs, env=ENVIRONMENT)


@nox.session(default=False)
def minimum(session: nox.Session) -> None:
    """Restore a file with the least versions that are declared."""
    lines = session.run("python", ".ci/minimum_versions.py", silent=True)
    constraints = Path(session.create_tmp()) / "minima.txt"
    constraints.write_text(str(lines), encoding="utf-8")
    session.install("--constraint", str(constraints), ".")
    session.run("python", ".ci/restore_one_file.py")


@nox.session(default=False)
def nightly(session: nox.Session) -> None:
    """Run the tests with tomorrow's NumPy and SciPy."""
    session.install(".[test]")
    session.install("--pre", "--upgrade", "--extra-index-url", NIGHTLY, "numpy", "scipy")
    # What is deprecated there is shown, and does not fail.
    session.run("pytest", "-n", "auto", "-W", "default", *session.posargs, env=ENVIRONMENT)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site into build/site, gallery included, warnings as errors, and run every snippet of the documents."""
    session.install(".[docs]")
    session.run("python", "docs/tools/build.py", "build/site", *session.posargs)
    session.run("python", "docs/tools/snippets.py", env=ENVIRONMENT)


@nox.session(default=False)
def napari(session: nox.Session) -> None:
    """Test the plug-in offscreen, with PySide6."""
    session.install(".[test,napari]", "PySide6_Essentials")
    # napari brings plug-ins for pytest that warn while they are loaded; the tests need none of them.
    session.run("pytest", "-p", "no:napari", "-p", "no:npe2", "tests/napari", env={"QT_QPA_PLATFORM": "offscreen"})


@nox.session(default=False)
def release(session: nox.Session) -> None:
    """Make a release: ``nox -s release -- 0.2.0``; see tools/release.py."""
    session.install("build")
    session.run("python", "tools/release.py", "make", *session.posargs)


if __name__ == "__main__":
    nox.main()
