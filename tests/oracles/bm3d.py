"""BM3D as the articles describe it: slow, obvious, in float64, one block and one group at a time."""

from __future__ import annotations

import numpy as np
from scipy.fft import dct

# The analysis filters of the wavelet bior1.5, times sqrt(2) to be rational.
LOW_PASS = np.array([3, -3, -22, 22, 128, 128, 22, -22, -3, 3]) / 128 / np.sqrt(2)
HIGH_PASS = np.array([1, -1]) / np.sqrt(2)


def dct_matrix():
    return dct(np.eye(8), axis=0, norm="ortho")


def biorthogonal_matrix():
    """Three periodic levels of bior1.5 on eight samples; rows have unit norm."""
    matrix = np.eye(8)
    for length in (8, 4, 2):
        level = np.eye(8)
        level[:length, :length] = 0
        for k in range(length // 2):
            for tap, value in enumerate(LOW_PASS):
                level[k, (2 * k + tap - 4) % length] += value
            for tap, value in enumerate(HIGH_PASS):
                level[length // 2 + k, 2 * k + tap] += value
        matrix = level @ matrix
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def haar_matrix(size):
    if size == 1:
        return np.ones((1, 1))
    smaller = haar_matrix(size // 2)
    sums = np.kron(smaller, [1, 1])
    differences = np.kron(np.eye(size // 2), [1, -1])
    return np.vstack([sums, differences]) / np.sqrt(2)


def analyse(blocks, matrix):
    """Transform a group (n, 8, 8) along its three axes."""
    across = haar_matrix(len(blocks))
    return np.einsum("an,ij,kl,njl->aik", across, matrix, matrix, blocks)


def synthesise(coefficients, matrix):
    across, inverse = haar_matrix(len(coefficients)).T, np.linalg.inv(matrix)
    return np.einsum("na,ij,kl,ajl->nik", across, inverse, inverse, coefficients)


def threshold_group(blocks, threshold):
    """Return the filtered group and the number of coefficients kept."""
    coefficients = analyse(blocks, biorthogonal_matrix())
    kept = np.abs(coefficients) > threshold
    return synthesise(coefficients * kept, biorthogonal_matrix()), int(kept.sum())


def wiener_group(noisy, pilot, variance):
    """Return the filtered group and the sum of the squared gains."""
    power = analyse(pilot, dct_matrix()) ** 2
    gains = power / (power + variance)
    return synthesise(gains * analyse(noisy, dct_matrix()), dct_matrix()), float((gains**2).sum())


def distances(image, y, x, reach):
    """Return {(dy, dx): squared distance} for all blocks in the window that lie in the image."""
    height, width = image.shape
    reference = image[y : y + 8, x : x + 8]
    return {
        (dy, dx): float(((image[y + dy : y + dy + 8, x + dx : x + dx + 8] - reference) ** 2).sum())
        for dy in range(-reach, reach + 1)
        for dx in range(-reach, reach + 1)
        if 0 <= y + dy <= height - 8 and 0 <= x + dx <= width - 8
    }


def group(image, y, x, stage, sigma):
    """Return the displacements of a group, most similar first."""
    measured = distances(image, y, x, stage.reach)
    limit = 64 * (stage.similarity + stage.noise_share * sigma**2)
    similar = sorted((d, shift) for shift, d in measured.items() if d < limit)
    size = 1
    while 2 * size <= min(len(similar), stage.group):
        size *= 2
    return [shift for _, shift in similar[:size]]


def starts(length, stage):
    return sorted({0, *range(stage.offset, length - 8, stage.step), length - 8})


def blocks_at(image, y, x, shifts):
    return np.stack([image[y + dy : y + dy + 8, x + dx : x + dx + 8] for dy, dx in shifts])


def stage(image, sigma, profile, pilot=None, groups=None):
    """Run one stage on an image without its mean: the first if `pilot` is None, else the second."""
    settings = profile.pilot if pilot is None else profile.final
    window = np.outer(np.kaiser(8, profile.kaiser), np.kaiser(8, profile.kaiser))
    sums, weights = np.zeros_like(image), np.zeros_like(image)
    for y in starts(image.shape[0], settings):
        for x in starts(image.shape[1], settings):
            guide = image if pilot is None else pilot
            shifts = groups[y, x] if groups else group(guide, y, x, settings, sigma)
            noisy = blocks_at(image, y, x, shifts)
            if pilot is None:
                filtered, cost = threshold_group(noisy, profile.threshold * sigma)
            else:
                variance = profile.wiener_noise * sigma**2
                filtered, cost = wiener_group(noisy, blocks_at(pilot, y, x, shifts), variance)
            for (dy, dx), block in zip(shifts, filtered, strict=True):
                place = np.s_[y + dy : y + dy + 8, x + dx : x + dx + 8]
                sums[place] += window * block / max(cost, 1)
                weights[place] += window / max(cost, 1)
    return sums / weights


def principal_group(noisy, pilot, variance, outputs=16):
    """Return the first blocks of a group, filtered in its principal axes, and the sum of the squared gains."""
    size, shape = len(pilot), pilot.shape[1:]
    removed = np.mean((noisy[:outputs] - pilot[:outputs]) ** 2)
    beta = np.clip(1 - 3 * (removed / variance - 0.85), 0.2, 1.5)
    mean = pilot.mean(axis=0)
    deviations = (pilot - mean).reshape(size, -1)
    _, scales, axes = np.linalg.svd(deviations, full_matrices=False)
    floor = size * beta * variance + 2e-6 * np.sum(scales**2)
    gains = scales**2 / (scales**2 + floor)
    coefficients = (noisy[:outputs] - mean).reshape(-1, 64) @ axes.T
    return mean + (coefficients * gains @ axes).reshape(-1, *shape), float(np.sum(gains**2))


def principal(image, pilot, sigma, profile, groups=None):
    """Run the third stage on an image without its mean; `pilot` is what the second has made of it."""
    settings = profile.principal
    window = np.outer(np.kaiser(8, profile.kaiser), np.kaiser(8, profile.kaiser))
    sums, weights = np.zeros_like(image), np.zeros_like(image)
    for y in starts(image.shape[0], settings):
        for x in starts(image.shape[1], settings):
            shifts = groups[y, x] if groups else group(pilot, y, x, settings, sigma)
            noisy, estimate = blocks_at(image, y, x, shifts), blocks_at(pilot, y, x, shifts)
            filtered, cost = principal_group(noisy, estimate, profile.principal_noise * sigma**2)
            for (dy, dx), block in zip(shifts, filtered, strict=False):
                place = np.s_[y + dy : y + dy + 8, x + dx : x + dx + 8]
                sums[place] += window * block / (1 + cost)
                weights[place] += window / (1 + cost)
    return sums / weights


def bm3d(image, sigma, profile):
    """Denoise a gray image."""
    centred = image - image.mean()
    pilot = stage(centred, sigma, profile)
    return stage(centred, sigma, profile, pilot) + image.mean()
