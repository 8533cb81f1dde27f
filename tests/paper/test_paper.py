"""The transcription, against the averages that the paper prints beside its numbers."""

import pytest

from plugplay_paper import paper

SUPER_RESOLUTION = {
    1: {"DCNN": 32.04, "SR": 31.81, "SPSR": 31.76, "TSE": 31.90, "GPR": 30.20, "Ours-M": 32.18, "Ours-A": 31.95},
    2: {"DCNN": 26.91, "SR": 26.71, "SPSR": 26.80, "TSE": 26.95, "GPR": 25.58, "Ours-M": 27.22, "Ours-A": 27.23},
    3: {"DCNN": 26.03, "SR": 25.98, "SPSR": 26.29, "TSE": 25.93, "GPR": 26.68, "Ours-M": 29.38, "Ours-M*": 26.97},
    4: {"DCNN": 21.01, "SR": 20.95, "SPSR": 21.21, "TSE": 20.92, "GPR": 22.20, "Ours-M": 26.17, "Ours-M*": 21.81},
}
SINGLE_PHOTON = {
    4: {"MLE": 14.53, "Chan-Lu": 24.48, "Ours-M": 26.20, "Ours-A": 26.27},
    6: {"MLE": 17.65, "Chan-Lu": 26.02, "Ours-M": 28.19, "Ours-A": 28.14},
    8: {"MLE": 20.01, "Chan-Lu": 26.90, "Ours-M": 29.56, "Ours-A": 29.49},
    10: {"MLE": 21.88, "Chan-Lu": 27.46, "Ours-M": 30.60, "Ours-A": 30.51},
}


@pytest.mark.parametrize(
    ("table", "averages"), [(paper.SUPER_RESOLUTION, SUPER_RESOLUTION), (paper.SINGLE_PHOTON, SINGLE_PHOTON)]
)
def test_rows_have_the_printed_averages(table, averages):
    assert {number: set(rows) for number, rows in table.items()} == {n: set(rows) for n, rows in averages.items()}
    for number, rows in averages.items():
        for method, average in rows.items():
            row = table[number][method]
            assert len(row) == len(paper.IMAGES) == 10
            # The paper averaged before rounding: up to a unit of the last digit.
            assert sum(row) / 10 == pytest.approx(average, abs=0.0105)


@pytest.mark.parametrize("name", ["house", "House", "07_house", "house256", "07-House_256", "07_house.png"])
def test_images_are_known_by_name_and_size(name):
    row = paper.SUPER_RESOLUTION[1]["Ours-M"]
    assert paper.printed(row, name, (256, 256)) == 35.30
    assert paper.printed(row, name, (512, 512)) is None


@pytest.mark.parametrize("name", ["houses", "lighthouse", "07", ""])
def test_other_images_have_no_numbers(name):
    assert paper.printed(paper.SUPER_RESOLUTION[1]["Ours-M"], name, (256, 256)) is None
