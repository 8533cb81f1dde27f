"""The files around the code agree with it."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def sessions():
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_matrix_is_what_the_package_claims():
    matrix = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    tested = matrix["jobs"]["tests"]["strategy"]["matrix"]
    claimed = [line.rpartition(" ")[2] for line in PROJECT["project"]["classifiers"] if "Python :: 3." in line]
    assert tested["python"] == claimed
    assert {name.split("-")[0] for name in tested["os"]} == {"ubuntu", "macos", "windows"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_tasks_that_exist(path):
    text = path.read_text(encoding="utf-8")
    called = {word for line in re.findall(r"nox -s ([\w ]+)", text) for word in line.split()}
    assert called <= sessions()
    assert "password" not in str(yaml.safe_load(text)).lower()


def test_publishing_needs_no_token():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "with" not in jobs["publish"]["steps"][-1]


def test_the_citation_names_software_and_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["license"] == PROJECT["project"]["license"]
    assert citation["preferred-citation"]["year"] == 2017
    assert len(citation["preferred-citation"]["authors"]) == 3
