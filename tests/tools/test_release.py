"""The pure parts of the release script, and that it leaves a repository alone when something fails."""

import datetime
import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
specification = importlib.util.spec_from_file_location("release", ROOT / "tools" / "release.py")
release = importlib.util.module_from_spec(specification)
specification.loader.exec_module(release)

DAY = datetime.date(2026, 11, 16)
CHANGES = "# Changes\n\n## Unreleased (0.2.0)\n\n### Added\n\n- One.\n\n## 0.1.0\n\n- Zero.\n"


def test_versions_are_ordered():
    versions = ["0.1.0", "0.2.0.dev0", "0.2.0.dev3", "0.2.0rc1", "0.2.0", "0.2.1", "0.10.0", "1.0.0"]
    assert max(versions, key=release.order) == versions[-1]
    keys = [release.order(version) for version in versions]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize("version", ["0.2", "v0.2.0", "0.2.0.1", "", "0.2.0-rc1"])
def test_what_is_no_version_is_refused(version):
    with pytest.raises(release.ReleaseError, match="not a version"):
        release.order(version)


def test_the_version_goes_up_only():
    source = 'import a\n__version__ = "0.2.0.dev0"\nb = 1\n'
    assert release.bumped(source, "0.2.0") == source.replace(".dev0", "")
    with pytest.raises(release.ReleaseError, match="not later"):
        release.bumped(source, "0.1.9")


def test_the_changelog_is_dated_and_tells_the_notes():
    changed = release.dated(CHANGES, "0.2.0", DAY)
    assert "## 0.2.0 (2026-11-16)\n\n### Added" in changed
    assert release.notes(changed, "0.2.0") == "### Added\n\n- One."
    assert release.notes(changed, "0.1.0") == "- Zero."
    with pytest.raises(release.ReleaseError, match="found 0"):
        release.dated(changed, "0.2.0", DAY)
    with pytest.raises(release.ReleaseError, match="says nothing"):
        release.dated("## Unreleased\n\n## 0.1.0\n\n- Zero.\n", "0.2.0", DAY)


def test_the_citation_has_one_date():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    twice = release.cited(release.cited(text, "0.2.0", DAY), "0.3.0", DAY)
    assert re.findall(r"^(?:version|date-released): .*$", twice, re.MULTILINE) == [
        "version: 0.3.0",
        "date-released: 2026-11-16",
    ]


def test_the_real_files_can_be_released():
    source = (ROOT / release.VERSION_FILE).read_text(encoding="utf-8")
    major, minor, patch, _ = release.order(release.current(source))
    release.bumped(source, f"{major}.{minor}.{patch + 1}")
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in metadata["project"]["dynamic"]
    assert metadata["tool"]["hatch"]["version"]["path"] == release.VERSION_FILE


@pytest.fixture
def repository(tmp_path):
    """A repository that cannot be built."""
    for name in (release.VERSION_FILE, release.CITATION):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / release.VERSION_FILE).write_text('__version__ = "0.2.0.dev0"\n', encoding="utf-8")
    (tmp_path / release.CHANGELOG).write_text(CHANGES, encoding="utf-8")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "all"]):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    return tmp_path


def test_a_failed_build_changes_nothing(repository):
    with pytest.raises(release.ReleaseError, match="failed"):
        release.make("0.2.0", root=repository, day=DAY)
    assert release._run("git", "status", "--porcelain", place=repository) == ""
    assert release._run("git", "tag", place=repository) == ""


def test_changes_and_known_tags_are_refused(repository):
    (repository / "stray").write_text("x", encoding="utf-8")
    with pytest.raises(release.ReleaseError, match="has changes"):
        release.make("0.2.0", root=repository)
    (repository / "stray").unlink()
    subprocess.run(["git", "tag", "v0.2.0"], cwd=repository, check=True)
    with pytest.raises(release.ReleaseError, match="already"):
        release.make("0.2.0", root=repository)
