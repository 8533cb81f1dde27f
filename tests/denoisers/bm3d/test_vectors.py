"""The vector primitives against NumPy."""

import numba
import numpy as np
import pytest

from plugplay.denoisers.bm3d import instructions
from plugplay.denoisers.bm3d.instructions import multiply_bytes, multiply_pairs, permute
from plugplay.denoisers.bm3d.vectors import (
    above,
    as_ints,
    bit_count,
    broadcast,
    broadcast_int,
    fma,
    inverse_cholesky,
    keep_above,
    lane,
    load,
    load_ints,
    lower_of,
    mask_below,
    pack_pairs,
    shifts_in,
    splat,
    splat_int,
    store,
    store_ints,
    to_floats,
    to_ints,
    total,
    transpose,
    upper_of,
)


@numba.njit
def arithmetic(a, b, out):
    x, y = load(a, 1), load(b, 0)
    store(out, 0, x + y)
    store(out, 8, x - y)
    store(out, 16, x * y)
    store(out, 24, x / y)
    store(out, 32, fma(x, y, splat(0.5)))
    store(out, 40, -x)
    store(out, 48, keep_above(x, y))
    store(out, 56, above(x, y))
    return total(x)


@numba.njit
def integers(a, b, out):
    x, y = load_ints(a, 0), load_ints(b, 0)
    store_ints(out, 0, x & y)
    store_ints(out, 8, x | y)
    store_ints(out, 16, lower_of(x, y))
    store_ints(out, 24, upper_of(x, y))
    by_1, by_2, by_3, by_4 = shifts_in(x, y)
    store_ints(out, 32, by_1)
    store_ints(out, 72, by_2)
    store_ints(out, 80, by_3)
    store_ints(out, 88, by_4)
    store_ints(out, 40, splat_int(lane(x, 3)))
    store_ints(out, 48, x + y)
    store_ints(out, 56, x - y)
    store_ints(out, 64, broadcast_int(a, 5))
    mask = mask_below(x, y)
    return mask, bit_count(mask)


def pairs(a, b, lanes, out):
    x, y = load_ints(a, 0), load_ints(b, 0)
    store_ints(out, 0, multiply_pairs(pack_pairs(x, y), pack_pairs(y, x + y)))
    store_ints(out, 8, permute(x, load_ints(lanes, 0)))


def quads(total, a, b, shifted, out):
    store_ints(out, 0, multiply_bytes(load_ints(total, 0), load_ints(a, 0), load_ints(b, 0)))
    store_ints(out, 8, load_ints(shifted, 0) << splat_int(3))
    store_ints(out, 16, load_ints(shifted, 0) >> splat_int(3))


@numba.njit
def converted(a, n, floats, ints):
    store_ints(ints, 0, to_ints(load(a, 0)))
    store(floats, 0, to_floats(load_ints(n, 0)))


@numba.njit
def bits(a, out):
    store_ints(out, 0, as_ints(load(a, 0)))


@numba.njit
def transposed(block, out):
    columns = transpose(
        load(block, 0), load(block, 8), load(block, 16), load(block, 24),
        load(block, 32), load(block, 40), load(block, 48), load(block, 56),
    )  # fmt: skip
    c0, c1, c2, c3, c4, c5, c6, c7 = columns
    store(out, 0, c0)
    store(out, 8, c1)
    store(out, 16, c2)
    store(out, 24, c3)
    store(out, 32, c4)
    store(out, 40, c5)
    store(out, 48, c6)
    store(out, 56, c7)


@numba.njit
def factored(block, out):
    r0, r1, r2, r3, r4, r5, r6, r7 = inverse_cholesky(
        load(block, 0), load(block, 8), load(block, 16), load(block, 24),
        load(block, 32), load(block, 40), load(block, 48), load(block, 56),
    )  # fmt: skip
    store(out, 0, r0)
    store(out, 8, r1)
    store(out, 16, r2)
    store(out, 24, r3)
    store(out, 32, r4)
    store(out, 40, r5)
    store(out, 48, r6)
    store(out, 56, r7)


@numba.njit
def spread(a, index, out):
    store(out, 0, broadcast(a, index))


def test_arithmetic_works_lane_by_lane():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(9).astype(np.float32)
    b = rng.uniform(0.1, 2, 8).astype(np.float32)
    out = np.zeros(64, np.float32)
    lanes_total = arithmetic(a, b, out)
    x = a[1:]
    expected = [x + b, x - b, x * b, x / b, x * b + 0.5, -x, np.where(abs(x) > b, x, 0), abs(x) > b]
    np.testing.assert_allclose(out.reshape(8, 8), np.stack(expected), rtol=1e-6, atol=1e-7)
    assert lanes_total == pytest.approx(x.sum(), rel=1e-5)


def test_integer_operations():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 1 << 30, (2, 8)).astype(np.int32)
    out = np.zeros(96, np.int32)
    mask, count = integers(a, b, out)
    expected = [a & b, a | b, np.minimum(a, b), np.maximum(a, b), np.append(a[7], b[:7]), np.full(8, a[3])]
    expected += [a + b, a - b, np.full(8, a[5])]
    expected += [np.append(a[-by:], b[:-by]) for by in (2, 3, 4)]
    np.testing.assert_array_equal(out.reshape(12, 8), np.stack(expected))
    assert mask == sum(1 << i for i in range(8) if a[i] < b[i])
    assert count == np.count_nonzero(a < b)


@pytest.mark.parametrize("avx2", [None, False])
def test_pairs_with_and_without_their_instruction(avx2, monkeypatch):
    if avx2 is not None:
        monkeypatch.setattr(instructions, "_has_avx2", lambda _: avx2)
    rng = np.random.default_rng(5)
    a, b = rng.integers(-4000, 4000, (2, 8)).astype(np.int32)
    lanes = rng.integers(0, 8, 8).astype(np.int32)
    out = np.zeros(16, np.int32)
    numba.njit(pairs)(a, b, lanes, out)
    np.testing.assert_array_equal(out.reshape(2, 8), [a * b + b * (a + b), a[lanes]])


@pytest.mark.parametrize("instruction", [None, False])
def test_bytes_with_and_without_their_instruction(instruction, monkeypatch):
    if instruction is not None:
        monkeypatch.setattr(instructions, "_has_byte_products", lambda _: instruction)
    rng = np.random.default_rng(8)
    unsigned = rng.integers(0, 256, (8, 4)).astype(np.uint8)
    signed = rng.integers(-128, 128, (8, 4)).astype(np.int8)
    unsigned[0], signed[0] = 255, -128
    start, shifted = rng.integers(-(2**20), 2**20, (2, 8)).astype(np.int32)
    out = np.zeros(24, np.int32)
    numba.njit(quads)(start, unsigned.view(np.int32).ravel(), signed.view(np.int32).ravel(), shifted, out)
    expected = start + (unsigned.astype(int) * signed).sum(axis=1)
    np.testing.assert_array_equal(out.reshape(3, 8), [expected, shifted << 3, shifted >> 3])


def test_conversions():
    values = np.random.default_rng(6).uniform(0, 5000, 8).astype(np.float32)
    numbers = np.random.default_rng(7).integers(-(2**30), 2**30, 8).astype(np.int32)
    floats, ints = np.zeros(8, np.float32), np.zeros(8, np.int32)
    converted(values, numbers, floats, ints)
    np.testing.assert_array_equal(ints, np.floor(values))
    np.testing.assert_array_equal(floats, numbers.astype(np.float32))


def test_bits_of_floats_keep_their_order():
    values = np.sort(np.random.default_rng(2).exponential(size=8)).astype(np.float32)
    out = np.zeros(8, np.int32)
    bits(values, out)
    np.testing.assert_array_equal(out, values.view(np.int32))
    assert (np.diff(out) > 0).all()


def test_transpose():
    block = np.random.default_rng(3).standard_normal(64).astype(np.float32)
    out = np.zeros(64, np.float32)
    transposed(block, out)
    np.testing.assert_array_equal(out.reshape(8, 8), block.reshape(8, 8).T)


@pytest.mark.parametrize("rank", [0, 3, 12])
def test_inverse_cholesky(rank):
    factor = 10 * np.random.default_rng(4).standard_normal((8, rank))
    matrix = factor @ factor.T + np.eye(8)
    out = np.zeros(64, np.float32)
    factored(matrix.astype(np.float32).ravel(), out)
    np.testing.assert_allclose(out.reshape(8, 8), np.linalg.inv(np.linalg.cholesky(matrix)), atol=1e-4)


def test_broadcast():
    values = np.arange(5, dtype=np.float32)
    out = np.zeros(8, np.float32)
    spread(values, 3, out)
    np.testing.assert_array_equal(out, 3)
