"""The tables of docs/reproduce.md come from reports: means, spreads, the paper's numbers, and which folder wins."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "docs" / "tools" / "reproduced_tables.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("reproduced_tables", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def report(rows, *, name="super-resolution", part=3, realisations=5):
    """Return what report.json holds of one table; rows are label, average, STD and the paper's two."""
    columns = [{"name": heading} for heading in ("house", "average", "STD", "seconds")]
    table = {
        "name": f"{name}-{part}",
        "columns": columns,
        "rows": [
            {
                "label": label,
                "entries": [
                    {"value": 1.0, "paper": None, "note": ""},
                    {"value": average, "paper": printed, "note": note},
                    {"value": spread, "paper": printed_spread, "note": ""},
                    {"value": 2.0, "paper": None, "note": ""},
                ],
            }
            for label, average, spread, printed, printed_spread, note in rows
        ],
    }
    several = f"averages over {realisations} realisations" if realisations > 1 else "one realisation"
    return {"sections": [{"name": name, "conventions": f"All are {several} of the noise.", "blocks": [table]}]}


def test_cells_have_means_spreads_and_differences_to_the_paper(tool):
    rows = [("Ours-M", 29.46, 0.0123, 29.5, 0.01, ""), ("GPR", 26.0, 0.02, None, None, "")]
    lines = tool.tables([report(rows)]).splitlines()
    assert lines[0].startswith("| super-resolution | x2, bicubic | x4, bicubic | x2, Gaussian, noise (5) |")
    assert lines[2] == "| Ours-M |  |  | 29.46 ± 0.012<br>29.50 ± 0.010 (−0.04) |  |"
    assert lines[3] == "| GPR |  |  | 26.00 ± 0.020 |  |"


def test_rows_of_later_folders_win_and_incomplete_ones_do_not(tool):
    first = report([("TSE", 25.0, 0.02, None, None, ""), ("SR", 24.0, 0.02, None, None, "")])
    second = report([("TSE", 26.0, None, None, None, ""), ("SR", 1.0, 0.1, None, None, "not all realisations")])
    lines = tool.tables([first, second]).splitlines()
    assert "26.00 (1)" in lines[2]
    assert "24.00 ± 0.020 (5)" in lines[3]


def test_only_what_is_between_the_marks_is_replaced(tool, tmp_path, monkeypatch, capsys):
    page = tmp_path / "reproduce.md"
    page.write_text(f"before\n{tool.BEGIN}\nold\n{tool.END}\nafter\n", encoding="utf-8")
    (tmp_path / "report.json").write_text(json.dumps(report([("MLE", 14.5, 0.01, 14.5, None, "")])))
    monkeypatch.setattr(tool, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["tool", str(tmp_path)])
    tool.main()
    assert "14.50 ± 0.010<br>14.50 (+0.00)" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["tool", str(tmp_path), "--write"])
    tool.main()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith(f"{tool.END}\nafter\n")
    assert "old" not in text
    with pytest.raises(ValueError, match="needs the lines"):
        tool.replaced("no marks", "")
