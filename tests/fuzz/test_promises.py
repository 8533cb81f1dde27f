"""Every promise in the documentation names a test that exists."""

import re

from fuzz.harness import ROOT


def test_the_tests_that_are_named_exist():
    text = (ROOT / "docs" / "promises.md").read_text()
    file, named = None, 0
    for path, name in re.findall(r"`(tests/[\w/]+\.py|…)(?:::(\w+))?", text):
        file = file if path == "…" else ROOT / path
        source = file.read_text()
        assert not name or f"def {name}(" in source, f"{file}::{name}"
        named += bool(name)
    assert named > 20
