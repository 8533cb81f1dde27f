"""The report as files: complete, readable by machines, and honest about what is missing."""

import csv
import json
from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure

from plugplay_paper.environment import Environment
from plugplay_paper.report.blocks import Column, Entry, Plot, Row, Section, Series, Table
from plugplay_paper.report.document import Document, Run
from plugplay_paper.report.writer import write_report
from plugplay_paper.runner import Failure

VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """Collects texts and images, and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.images, self.ids, self.links = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "img":
            self.images.append(attributes["src"])
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"].removeprefix("#"))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def document():
    columns = (Column("house"), Column("<b> & co"), Column("average", summary=True))
    table = Table(
        "results",
        "Results <1>",
        columns,
        (
            Row("ours", (Entry(31.456, spread=0.0123, paper=31.2), Entry(None, paper=30.0), Entry(None))),
            Row("perfect", (Entry(float("inf")), Entry(29.0, note="2 of 5"), Entry(29.5))),
        ),
        results=True,
    )
    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([1, 2], [3, 4])
    plot = Plot("curve", "A curve", figure, (Series("line", "x", "y", (1.0, 2.0), (3.0, 4.0)),))
    sections = (
        Section("tables", "Tables", "PSNR without\n a border.", (table,), planned=4, done=3),
        Section("plots", "Plots", "As before.", (plot, Plot("later", "Another", None)), planned=1, done=1),
        Section("nothing", "Nothing", "", (), planned=7, done=0),
    )
    run = Run(
        command="plugplay reproduce all",
        images="somewhere",
        quick=False,
        environment=Environment.here(),
        workers=2,
        finished=0.0,
        seconds=3725.0,
        computed=3,
        earlier=1,
        missing=8,
        failures=(Failure("a <cell>", "ValueError: broken"),),
    )
    return Document(run, sections, [])


def test_the_page_is_sound_and_shows_everything(document, tmp_path):
    target = write_report(tmp_path, document)
    assert target == tmp_path / "index.html"
    page = Page(target.read_text(encoding="utf-8"))
    text = " ".join(" ".join(page.texts).split())
    for part in (
        "31.46 ± 0.012 31.20 ( +0.26 )",
        "not run 30.00",
        "29.00 2 of 5",
        "Results <1>",
        "<b> & co",
        "a <cell>: ValueError: broken",
        "PSNR without a border.",
        "(3 of 4 cells run)",
        "(not run)",
        "Another: not run.",
        "1 h 2 min with 2 cells at a time",
        "3 computed in this run, 1 by the same code in earlier runs, 8 not run",
        document.run.environment.cpu,
        f"numpy {dict(document.run.environment.libraries)['numpy']}",
    ):
        assert part in text
    assert page.images == ["figures/curve.png"]
    assert set(page.links) <= set(page.ids)
    assert (tmp_path / "figures" / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_json_holds_the_same(document, tmp_path):
    write_report(tmp_path, document)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    report = json.loads((tmp_path / "report.json").read_text(), parse_constant=refuse)
    [table] = report["sections"][0]["blocks"]
    assert table["rows"][0]["entries"][0] == {"value": 31.456, "spread": 0.0123, "paper": 31.2, "note": ""}
    assert report["sections"][1]["blocks"][0]["series"][0]["y"] == [3.0, 4.0]
    assert report["run"]["environment"]["cores"] >= 1
    [compared] = report["against_the_paper"]
    assert compared["method"] == "ours"
    assert compared["average"] == compared["worst"] == pytest.approx(0.256)
    assert compared["images"] == 1


def test_the_csv_files_hold_the_same(document, tmp_path):
    write_report(tmp_path, document)
    with (tmp_path / "tables" / "results.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 6
    first = rows[0]
    assert (first["method"], first["column"], float(first["measured"])) == ("ours", "house", 31.456)
    assert float(first["difference"]) == pytest.approx(0.256)
    assert rows[1]["note"] == "not run"
    assert rows[1]["measured"] == ""
    with (tmp_path / "figures" / "curve.csv").open(newline="") as stream:
        assert list(csv.reader(stream)) == [["line", "x", "y"], ["line", "1.0", "3.0"], ["line", "2.0", "4.0"]]
    assert (tmp_path / "cells.csv").read_text().startswith("image,problem,method,seed")


def test_nothing_of_an_earlier_report_stays_beside_this_one(document, tmp_path):
    for name in ("tables/old.csv", "figures/old.png", "figures/old.csv", "cells/0.json", "tables/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("earlier")
    write_report(tmp_path, document)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {
        "cells/0.json", "tables/notes.txt", "tables/results.csv", "figures/curve.png", "figures/curve.csv", "cells.csv",
        "report.json", "index.html",
    }  # fmt: skip
