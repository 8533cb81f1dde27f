"""The plan: which cells there are, and what a section makes of them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from plugplay_paper import paper
from plugplay_paper.cells.base import Cell
from plugplay_paper.cells.trials import Trial, TrialRecord
from plugplay_paper.experiments import EXPERIMENTS, Scope, by_name
from plugplay_paper.experiments.denoiser_tables import classical
from plugplay_paper.experiments.image_tables import mean_entry
from plugplay_paper.images import TestImage, bundled, colour_image, from_folder
from plugplay_paper.report.blocks import Table
from plugplay_paper.results import Results
from plugplay_paper.store import Store, key


def planned(name, scope):
    [experiment] = by_name([name])
    return experiment.cells(scope)


@pytest.fixture
def ten(small):
    images = tuple(TestImage(name, small.pixels) for name in paper.IMAGES)
    return Scope(images, small)


def test_the_super_resolution_table_is_complete(ten):
    """Bicubic, five baselines, Ours-M, Ours-A, related work (3), automatic; with noise five times, and Ours-M* too."""
    cells = planned("super-resolution", ten)
    assert len(cells) == 2 * 10 * 12 + 2 * 10 * 13 * 5
    assert {cell.border for cell in cells} == {4}
    assert len({key(cell) for cell in cells}) == len(cells)


def test_the_single_photon_table_is_complete(ten):
    """Six methods, four sensors, eight realisations."""
    cells = planned("single-photon", ten)
    assert len(cells) == 6 * 4 * 8 * 10
    assert {cell.seed for cell in cells} == set(range(8))
    assert {cell.problem.model.oversampling for cell in cells} == {4, 6, 8, 10}
    assert all(cell.problem.model.gain == cell.problem.model.oversampling**2 for cell in cells)


def test_deblurring_and_inpainting_have_all_denoisers_without_weights(ten):
    assert set(classical()) == {
        "bm3d", "tv", "nlm", "dsg-nlm", "wavelet", "recursive", "bilateral", "median", "gaussian",
    }  # fmt: skip
    assert len(planned("deblurring", ten)) == 10 * 6 * 10
    assert len(planned("inpainting", ten)) == 10 * 3 * 10
    noises = {round(255 * cell.problem.noise) for cell in planned("deblurring", ten)}
    assert noises == {2, 10}


def test_the_figures_are_there(ten):
    assert len(planned("starts", ten)) == 100
    assert len(planned("rho0", ten)) == 15
    assert len(planned("tolerance", ten)) == 10
    assert {cell.factor for cell in planned("runtime", ten)} == {2, 4}
    figures = {experiment.name for experiment in by_name(["figures"])}
    assert figures == {
        "images", "tolerance", "rho0", "starts", "runtime", "colour-super-resolution", "colour-single-photon",
        "expansiveness",
    }  # fmt: skip


def test_realisations_can_be_limited(ten):
    fewer = Scope(ten.images, ten.colour, max_realisations=1)
    assert len(planned("single-photon", fewer)) == 6 * 4 * 10


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_every_experiment_plans_cells_and_reports_without_them(experiment, scope, tmp_path):
    cells = experiment.cells(scope)
    assert all(isinstance(cell, Cell) and cell.cost > 0 and cell.label for cell in cells)
    section = experiment.section(scope, Results(Store(tmp_path)))
    assert (section.planned, section.done) == (len(cells), 0)
    for block in section.blocks:
        if isinstance(block, Table):
            assert all(entry.value is None for row in block.rows for entry in row.entries)
        elif experiment.name != "images":
            assert block.figure is None
            assert block.series == ()


def test_unknown_experiments_are_refused_with_those_there_are():
    with pytest.raises(ValueError, match="unknown experiment 'tables2'; available: all, tables, figures, super-"):
        by_name(["tables2"])


def test_a_table_averages_realisations_and_compares(small, tmp_path):
    """Fill the store with made-up numbers and see them in the right places."""
    images = (TestImage("house", np.zeros((256, 256))), TestImage("other", np.zeros((260, 260))))
    scope = Scope(images, small, quick=True)
    [experiment] = by_name(["super-resolution"])
    store = Store(tmp_path)
    for cell in experiment.cells(scope):
        store.save(cell, TrialRecord(36.0 if cell.image.name == "house" else 20.0, 2.0, None))
    tables = {table.name: table for table in experiment.section(scope, Results(store)).blocks}
    rows = {row.label: row.entries for row in tables["super-resolution-1"].rows}
    house, other, average, spread, seconds = rows["Ours-M"]
    assert (house.value, house.paper) == (36.0, 35.30)
    assert house.difference == pytest.approx(0.7)
    assert (other.value, other.paper, other.difference) == (20.0, None, None)
    assert (average.value, average.paper, spread.value, seconds.value) == (28.0, None, None, 2.0)
    assert [entry.value for entry in rows["DCNN"]] == [36.0, 20.0, 28.0, None, 2.0]
    assert [rows[name][0].paper for name in ("DCNN", "SPSR", "TSE")] == [35.11, 34.37, 34.78]
    assert "Ours-M*" not in rows
    assert "Ours-M*" in {row.label for row in tables["super-resolution-3"].rows}


def test_a_perfect_image_does_not_break_the_table(small, tmp_path):
    """A black image has no photons, and an infinite PSNR."""
    scope = Scope((TestImage("black", np.zeros((48, 48))),), small, max_realisations=2)
    [experiment] = by_name(["single-photon"])
    store = Store(tmp_path)
    for cell in experiment.cells(scope):
        store.save(cell, TrialRecord(float("inf"), 1.0, None))
    [entry, average, *_] = experiment.section(scope, Results(store)).blocks[0].rows[0].entries
    assert entry.value == average.value == float("inf")
    assert entry.spread is None


def test_an_average_says_that_realisations_are_missing(small, tmp_path):
    scope = Scope((small,), small, max_realisations=2)
    [experiment] = by_name(["single-photon"])
    store = Store(tmp_path)
    for cell in experiment.cells(scope):
        if cell.seed == 0:
            store.save(cell, TrialRecord(30.0, 1.0, None))
    [entry, average, *_] = experiment.section(scope, Results(store)).blocks[0].rows[0].entries
    assert (entry.note, average.note) == ("1 of 2", "not all realisations")


def test_the_mean_says_what_is_missing():
    def records(*values):
        return [None if value is None else TrialRecord(value, 1.0, None) for value in values]

    assert mean_entry(records(30.0, 31.0)).value == 30.5
    assert mean_entry(records(30.0, 31.0)).spread == pytest.approx(0.5**0.5)
    assert mean_entry(records(30.0, None)).note == "1 of 2"
    assert mean_entry(records(None, None)).value is None


def test_a_quick_run_takes_the_smallest_images(small):
    sides = {"a": 64, "b": 32, "c": 48}
    images = tuple(TestImage(name, np.zeros((side, side))) for name, side in sides.items())
    quick = Scope(images, small, quick=True)
    assert [image.name for image in quick.chosen] == ["b", "c"]
    assert quick.example.name == "b"
    assert Scope(images, small).chosen == images


def test_images_come_from_a_folder(folder):
    [image] = from_folder(folder)
    assert image.name == "house"
    assert image.pixels.shape == (48, 48)  # a multiple of 4
    assert 0 <= image.pixels.min() < image.pixels.max() <= 1


def test_folders_without_images_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds no image files; supported formats: \.png"):
        from_folder(tmp_path)
    with pytest.raises(ValueError, match="not a folder"):
        from_folder(tmp_path / "nothing")


def test_tiny_images_are_refused(tmp_path):
    Image.fromarray(np.zeros((20, 40), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match=r"a\.png has 40 x 20 pixels; at least 32"):
        from_folder(tmp_path)


def test_files_of_one_name_keep_their_endings_and_the_others_their_names(tmp_path):
    for name in ("01_house.png", "02_man.png", "man.tif", "._house.png"):
        Image.fromarray(np.zeros((32, 32), np.uint8)).save(tmp_path / name, format="PNG")
    assert [image.name for image in from_folder(tmp_path)] == ["house", "02_man.png", "man.tif"]


def test_float_images_are_clipped_and_must_be_finite(tmp_path):
    import tifffile

    pixels = np.linspace(-0.2, 1.2, 32 * 32, dtype=np.float32).reshape(32, 32)
    tifffile.imwrite(tmp_path / "float.tif", pixels)
    [image] = from_folder(tmp_path)
    np.testing.assert_array_equal(image.pixels, np.clip(pixels, 0, 1))
    pixels[3, 3] = np.nan
    tifffile.imwrite(tmp_path / "float.tif", pixels)
    with pytest.raises(ValueError, match=r"float\.tif has NaN or infinite pixels"):
        from_folder(tmp_path)


def test_odd_names_can_be_drawn(small, tmp_path):
    """What matplotlib takes for mathematics, or leaves out of legends."""
    scope = Scope((TestImage("a$b_$c", small.pixels), TestImage("_DSC0012", small.pixels)), small, quick=True)
    store = Store(tmp_path)
    for cell in planned("tolerance", scope):
        store.save(cell, TrialRecord(30.0, 1.0, 2, psnr_curve=(20.0, 30.0), delta_curve=(0.1, 0.01)))
    for name in ("images", "tolerance"):
        [experiment] = by_name([name])
        [plot] = experiment.section(scope, Results(store)).blocks
        plot.figure.savefig(tmp_path / "figure.png")
    [legend] = plot.figure.legends
    assert [text.get_text().strip() for text in legend.get_texts()][:2] == [r"a\$b_\$c", "_DSC0012"]


def test_there_are_images_without_a_folder():
    images = bundled()
    assert all(image.pixels.shape == (256, 256) for image in images)
    assert colour_image().pixels.shape == (512, 512, 3)
    assert all(
        paper.printed(paper.SUPER_RESOLUTION[1]["SR"], image.name, image.pixels.shape) is None for image in images
    )


def test_colour_files_become_gray(tmp_path):
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[..., 1] = 255
    Image.fromarray(pixels).save(tmp_path / "green.png")
    [image] = from_folder(Path(tmp_path))
    assert image.pixels == pytest.approx(0.587)


def test_labels_name_the_denoiser(ten):
    assert "nlm" in {
        cell.label.split()[-3].strip(",") for cell in planned("inpainting", ten) if isinstance(cell, Trial)
    }
