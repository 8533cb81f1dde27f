"""Planes in perspective: vanishing points where they were put, homographies against projection, a plane enlarged."""

import numpy as np
import pytest

from plugplay import psnr
from plugplay.models import SuperResolution
from plugplay_paper.baselines.line_segments import segments
from plugplay_paper.baselines.patch_match import match, on_plane
from plugplay_paper.baselines.planes import Planes, planes
from plugplay_paper.baselines.self_exemplars import Search, self_exemplars
from plugplay_paper.baselines.vanishing import vanishing_points

TURN = np.array([[np.cos(0.4), -np.sin(0.4), 0], [np.sin(0.4), np.cos(0.4), 0], [0, 0, 1]])
# From the unit square of the image to the plane; the last row is the vanishing line.
TO_PLANE = np.array([[1, 0, 0], [0, 1, 0], [0.35, 1.1, 1]]) @ TURN


def seen(paint, side, *, to_plane=TO_PLANE, oversampling=4):
    """Return an image of a plane that is painted as `paint` says at coordinates of the plane."""
    u = (np.arange(oversampling * side) + 0.5) / (oversampling * side) - 0.5
    square = np.stack([*np.meshgrid(u, u, indexing="ij"), np.ones((u.size, u.size))])
    a, b, w = np.tensordot(to_plane, square, axes=1)
    return paint(a / w, b / w).reshape(side, oversampling, side, oversampling).mean(axis=(1, 3))


def checkerboard(a, b, period=0.16):
    return 0.2 + 0.6 * ((np.floor(a / period) + np.floor(b / period)) % 2)


def tiles(a, b):
    """Return tiles that all show the same random squares, with dark joints."""
    tile = np.kron(np.random.default_rng(3).random((12, 12)), np.ones((4, 4)))
    squares = tile[np.floor(a / 0.25 * 48).astype(int) % 48, np.floor(b / 0.25 * 48).astype(int) % 48]
    return np.where(((a / 0.125) % 1 < 0.12) | ((b / 0.125) % 1 < 0.12), 0, 0.3 + 0.6 * squares)


def angle(first, second):
    """Return the angle of two homogeneous vectors in degrees, whatever their signs and sizes."""
    cosine = abs(np.dot(first, second)) / np.linalg.norm(first) / np.linalg.norm(second)
    return np.rad2deg(np.arccos(min(1.0, cosine)))


def test_segments_lie_where_lines_were_drawn():
    rows, columns = np.mgrid[:64, :64]
    direction = np.deg2rad(20)
    image = 0.2 + 0.6 * ((columns - 32) * np.sin(direction) - (rows - 32) * np.cos(direction) > 0)
    found = segments(image)
    assert angle(found.direction[0], (np.sin(direction), np.cos(direction))) < 1
    away = found.middle[0] - 32
    assert abs(away[1] * np.sin(direction) - away[0] * np.cos(direction)) < 1
    assert found.length[0] > 50


def test_noise_has_no_long_segments_and_no_vanishing_points():
    image = 0.5 + 5 / 255 * np.random.default_rng(0).standard_normal((96, 96))
    assert len(segments(image)) < 3
    assert vanishing_points(segments(image), image.shape) == []


def test_vanishing_points_of_a_checkerboard_are_where_they_were_put():
    image = seen(checkerboard, 192)
    found = vanishing_points(segments(image), image.shape)
    # Lines along either axis of the plane meet where the plane's coordinates go to infinity along that axis.
    expected = np.linalg.inv(TO_PLANE)[:, :2].T
    for true in expected:
        assert min(angle(point.place, true) for point in found) < 2


def test_the_plane_of_a_checkerboard_is_found_and_supported_everywhere():
    found = planes(seen(checkerboard, 192))
    assert min(angle(line, TO_PLANE[2]) for line in found.lines) < 4
    assert found.support.min() >= 0
    assert found.support.sum(axis=0).max() < 1
    assert np.median(found.support.sum(axis=0)) > 0.1


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_planes_that_face_the_camera_need_no_perspective(shift):
    turned = np.array([[np.cos(shift), -np.sin(shift), 0], [np.sin(shift), np.cos(shift), 0], [0, 0, 1]])
    image = seen(checkerboard, 128, to_plane=turned)
    assert len(vanishing_points(segments(image), image.shape)) >= 2
    assert len(planes(image).lines) == 0


@pytest.mark.parametrize("size", [1.0, 1.3])
def test_a_homography_carries_a_patch_onto_its_counterpart(size):
    """Go to the plane by the matrix, move and stretch there, and come back: no formula of `planes` is used."""
    shape, other, pixel = (96, 128), (68.0, 90.5), (30, 50)
    candidate = np.zeros(8, np.float32)
    candidate[:2] = 40.0, 55.0
    assert on_plane(TO_PLANE[2] / np.linalg.norm(TO_PLANE[2]), pixel, shape, other, size, candidate)

    def projected(matrix, point):
        image = matrix @ np.append(point, 1)
        return image[:2] / image[2]

    def from_pixel(point, extent):
        return (np.asarray(point) + 0.5) / extent - 0.5

    start, end = (
        projected(TO_PLANE, from_pixel(*pair)) for pair in ((pixel, shape), (candidate[:2].astype(float), other))
    )
    t, a, q = candidate[:2].astype(float), candidate[2:6].reshape(2, 2).astype(float), candidate[6:].astype(float)
    for offset in [(0, 0), (2, 0), (-2, 1), (0, -2), (8, 8), (-6, 10)]:
        on = projected(TO_PLANE, from_pixel(np.add(pixel, offset), shape))
        back = projected(np.linalg.inv(TO_PLANE), end + size * (on - start))
        expected = (back + 0.5) * other - 0.5
        np.testing.assert_allclose(t + a @ offset / (1 + q @ offset), expected, atol=2e-4)


def test_nothing_recurs_beyond_the_vanishing_line():
    line = np.array([1.0, 0.0, 0.0])
    candidate = np.zeros(8, np.float32)
    candidate[:2] = 4.0, 10.0
    assert on_plane(line, (8, 10), (32, 32), (32.0, 32.0), 1.0, candidate)
    assert not on_plane(line, (28, 10), (32, 32), (32.0, 32.0), 1.0, candidate)


def test_matches_on_a_plane_stay_one_homography_as_they_spread():
    """Of a plane with tiles, most matches are found in perspective, and better ones than without."""
    image = seen(tiles, 128).astype(np.float32)
    fine = seen(tiles, 360, oversampling=2).astype(np.float32)
    none = Planes.none()
    known = Planes(TO_PLANE[2:] / np.linalg.norm(TO_PLANE[2]), np.full((1, 1, 1), 0.9))
    without, with_plane = (match(image, fine, which.lines, which.support, 4, 6, 0) for which in (none, known))
    assert (without[0][..., 6:] == 0).all()
    assert (with_plane[0][..., 6:] != 0).any(axis=-1).mean() > 0.4
    assert with_plane[1].mean() < 0.7 * without[1].mean()


def test_a_receding_plane_is_enlarged_better_in_perspective():
    truth = seen(tiles, 256)
    y = SuperResolution(2).simulate(truth)
    flat, perspective = (
        psnr(self_exemplars(y, 2, search=Search(perspective=perspective)), truth, border=4)
        for perspective in (False, True)
    )
    assert perspective > flat + 0.8


def test_images_without_planes_stay_as_they_are(camera):
    y = SuperResolution(2).simulate(camera)
    assert len(planes(y).lines) == 0
    np.testing.assert_array_equal(self_exemplars(y, 2), self_exemplars(y, 2, search=Search(perspective=False)))
