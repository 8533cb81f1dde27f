"""Vectors of eight floats or integers, in which the kernels are written.

LLVM does not vectorise an 8x8 block transform by itself, so the kernels are explicit: a row of a block is
one `float8` (eight float32 lanes), and ``+ - * /`` work lane by lane. `int8` is its integer twin, which the
search uses to measure and to sort. The primitives emit plain LLVM vector operations and no instruction of a particular
CPU: LLVM lowers them to AVX, to pairs of SSE or NEON registers, or to scalars, whatever the machine has. The two that
LLVM has no operation for are in `plugplay.denoisers.bm3d.instructions`.

The primitives can be called from compiled code only. Loads and stores are not bounds-checked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model
from numpy.typing import NDArray

__all__ = [
    "INTS",
    "LANES",
    "Float8",
    "Floats",
    "Int8",
    "Ints",
    "above",
    "as_ints",
    "bit_count",
    "broadcast",
    "broadcast_int",
    "define_type",
    "float8",
    "fma",
    "int8",
    "inverse_cholesky",
    "keep_above",
    "lane",
    "load",
    "load_ints",
    "lower_of",
    "mask_below",
    "pack_pairs",
    "shifts_in",
    "splat",
    "splat_int",
    "store",
    "store_ints",
    "to_floats",
    "to_ints",
    "total",
    "transpose",
    "upper_of",
]

LANES = 8

# Types for the signatures of kernels. The two vectors exist in compiled code only.
Floats: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int32]
Float8: TypeAlias = Any
Int8: TypeAlias = Any

# An LLVM value, a type of Numba: neither library has type information.
Value: TypeAlias = Any
Kind: TypeAlias = Any

_FLOATS = ir.VectorType(ir.FloatType(), LANES)
INTS = ir.VectorType(ir.IntType(32), LANES)


class _Float8(types.Type):
    pass


class _Int8(types.Type):
    pass


float8 = _Float8("float32x8")
int8 = _Int8("int32x8")
_float_array = types.Array(types.float32, 1, "C")
_int_array = types.Array(types.int32, 1, "C")


@register_model(_Float8)
class _Float8Model(models.PrimitiveModel):
    def __init__(self, manager: Kind, kind: Kind) -> None:
        super().__init__(manager, kind, _FLOATS)


@register_model(_Int8)
class _Int8Model(models.PrimitiveModel):
    def __init__(self, manager: Kind, kind: Kind) -> None:
        super().__init__(manager, kind, INTS)


def _primitive(result: Kind, *parameters: Kind) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define a Numba function: the decorated one receives the LLVM builder and values, and emits the code."""

    def register(emit: Callable[..., Any]) -> Callable[..., Any]:
        def lower(context: Value, builder: Value, sig: Value, args: Value) -> Value:
            # An array arrives as a structure, of which the primitives need the address only.
            values = [
                context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
                for kind, value in zip(sig.args, args, strict=True)
            ]
            made = emit(builder, *values)
            return context.get_dummy_value() if result is types.void else made

        define_type(emit, signature(result, *parameters))
        lower_builtin(emit, *parameters)(lower)
        return emit

    return register


def define_type(function: Callable[..., Any], *signatures: Kind) -> None:
    """Declare the argument and return types of a function to Numba."""

    class Typing(ConcreteTemplate):
        key = function
        cases = signatures

    infer_global(function, types.Function(Typing))


def _define_operator(symbol: Callable[..., Any], vector: Kind, instruction: str) -> None:
    def lower(context: Value, builder: Value, sig: Value, args: Value) -> Value:  # noqa: ARG001
        return getattr(builder, instruction)(*args)

    define_type(symbol, signature(vector, vector, vector))
    lower_builtin(symbol, vector, vector)(lower)


_define_operator(operator.add, float8, "fadd")
_define_operator(operator.sub, float8, "fsub")
_define_operator(operator.mul, float8, "fmul")
_define_operator(operator.truediv, float8, "fdiv")
_define_operator(operator.add, int8, "add")
_define_operator(operator.sub, int8, "sub")
_define_operator(operator.and_, int8, "and_")
_define_operator(operator.or_, int8, "or_")
_define_operator(operator.lshift, int8, "shl")
_define_operator(operator.rshift, int8, "ashr")


def _lower_negation(context: Value, builder: Value, sig: Value, args: Value) -> Value:  # noqa: ARG001
    return builder.fneg(*args)


define_type(operator.neg, signature(float8, float8))
lower_builtin(operator.neg, float8)(_lower_negation)


# Memory. Alignment is that of one element: blocks start at any pixel.


@_primitive(float8, _float_array, types.intp)
def load(builder: Value, data: Value, index: Value) -> Value:
    """``load(array, i)``: the floats ``array[i : i + 8]``."""
    return builder.load(_address(builder, data, index, _FLOATS), align=4)


@_primitive(float8, _float_array, types.intp)
def broadcast(builder: Value, data: Value, index: Value) -> Value:
    """``broadcast(array, i)``: the float ``array[i]`` in every lane; unlike an index, `i` is never checked."""
    return _repeat(builder, builder.load(cgutils.gep(builder, data, index)), _FLOATS)


@_primitive(types.void, _float_array, types.intp, float8)
def store(builder: Value, data: Value, index: Value, value: Value) -> Value:
    """``store(array, i, v)``: write ``array[i : i + 8]``."""
    return builder.store(value, _address(builder, data, index, _FLOATS), align=4)


@_primitive(int8, _int_array, types.intp)
def load_ints(builder: Value, data: Value, index: Value) -> Value:
    """``load_ints(array, i)``: the integers ``array[i : i + 8]``."""
    return builder.load(_address(builder, data, index, INTS), align=4)


@_primitive(int8, _int_array, types.intp)
def broadcast_int(builder: Value, data: Value, index: Value) -> Value:
    """``broadcast_int(array, i)``: the integer ``array[i]`` in every lane; unlike an index, `i` is never checked."""
    return _repeat(builder, builder.load(cgutils.gep(builder, data, index)), INTS)


@_primitive(types.void, _int_array, types.intp, int8)
def store_ints(builder: Value, data: Value, index: Value, value: Value) -> Value:
    """``store_ints(array, i, v)``: write ``array[i : i + 8]``."""
    return builder.store(value, _address(builder, data, index, INTS), align=4)


def _address(builder: Value, data: Value, index: Value, vector: Value) -> Value:
    return builder.bitcast(cgutils.gep(builder, data, index), vector.as_pointer())


# Making and reducing vectors.


@_primitive(float8, types.float32)
def splat(builder: Value, value: Value) -> Value:
    """``splat(x)``: the float `x` in every lane."""
    return _repeat(builder, value, _FLOATS)


@_primitive(int8, types.int32)
def splat_int(builder: Value, value: Value) -> Value:
    """``splat_int(n)``: the integer `n` in every lane."""
    return _repeat(builder, value, INTS)


@_primitive(types.int32, int8, types.int32)
def lane(builder: Value, vector: Value, index: Value) -> Value:
    """``lane(v, i)``: lane `i` of the integers `v`."""
    return builder.extract_element(vector, index)


@_primitive(types.float32, float8)
def total(builder: Value, vector: Value) -> Value:
    """``total(v)``: the sum of the lanes, always added in the same order."""
    for half in (4, 2, 1):
        low = _shuffle(builder, vector, vector, range(half))
        high = _shuffle(builder, vector, vector, range(half, 2 * half))
        vector = builder.fadd(low, high)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _repeat(builder: Value, value: Value, vector: Kind) -> Value:
    zero = ir.Constant(ir.IntType(32), 0)
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, zero)
    return builder.shuffle_vector(single, single, ir.Constant(INTS, [0] * LANES))


def _shuffle(builder: Value, first: Value, second: Value, lanes: Value) -> Value:
    lanes = list(lanes)
    return builder.shuffle_vector(first, second, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))


# Arithmetic.


@_primitive(float8, float8, float8, float8)
def fma(builder: Value, a: Value, b: Value, c: Value) -> Value:
    """``fma(a, b, c)``: ``a * b + c``, in one instruction where the CPU has it."""
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v8f32")
    return builder.call(function, [a, b, c])


@_primitive(float8, float8, float8)
def keep_above(builder: Value, value: Value, threshold: Value) -> Value:
    """``keep_above(v, t)``: the lanes with ``|v| > t``, and zero in the others (the hard threshold)."""
    return builder.select(_exceeds(builder, value, threshold), value, ir.Constant(_FLOATS, [0.0] * LANES))


@_primitive(float8, float8, float8)
def above(builder: Value, value: Value, threshold: Value) -> Value:
    """``above(v, t)``: 1.0 in the lanes with ``|v| > t``, else 0.0."""
    one, zero = (ir.Constant(_FLOATS, [number] * LANES) for number in (1.0, 0.0))
    return builder.select(_exceeds(builder, value, threshold), one, zero)


def _exceeds(builder: Value, value: Value, threshold: Value) -> Value:
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_FLOATS, [_FLOATS]), "llvm.fabs.v8f32")
    return builder.fcmp_ordered(">", builder.call(function, [value]), threshold)


@_primitive(types.UniTuple(float8, LANES), *[float8] * LANES)
def transpose(builder: Value, *rows: Value) -> Value:
    """``transpose(r0, ..., r7)``: the eight columns of the 8x8 block with these rows."""
    pairs = [
        _shuffle(builder, rows[i], rows[i + 1], lanes)
        for i in range(0, LANES, 2)
        for lanes in ([0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15])
    ]
    quads = [
        _shuffle(builder, pairs[i + j], pairs[i + j + 2], lanes)
        for i in (0, 4)
        for j in (0, 1)
        for lanes in ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15])
    ]
    columns = [
        _shuffle(builder, quads[i], quads[i + 4], lanes)
        for lanes in ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15])
        for i in range(4)
    ]
    return cgutils.pack_array(builder, columns)


@_primitive(types.UniTuple(float8, LANES), *[float8] * LANES)
def inverse_cholesky(builder: Value, *rows: Value) -> Value:
    """``inverse_cholesky(r0, ..., r7)``: the rows of ``L^-1`` for the symmetric matrix ``L L'`` with these rows.

    Computed by elimination in registers. All eigenvalues of the matrix must be at least 1, so that no pivot is below 1;
    pivots that are below 1 by rounding are set to 1.
    """
    one = ir.Constant(_FLOATS, [1.0] * LANES)
    square_root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_FLOATS, [_FLOATS]), "llvm.sqrt.v8f32")
    left = list(rows)
    right = [ir.Constant(_FLOATS, [float(i == j) for j in range(LANES)]) for i in range(LANES)]
    scaled = []
    for k in range(LANES):
        pivot = _shuffle(builder, left[k], left[k], [k] * LANES)
        pivot = builder.select(builder.fcmp_ordered(">", pivot, one), pivot, one)
        inverse = builder.fdiv(one, pivot)
        for i in range(k + 1, LANES):
            factor = builder.fneg(builder.fmul(_shuffle(builder, left[i], left[i], [k] * LANES), inverse))
            left[i] = fma(builder, factor, left[k], left[i])
            right[i] = fma(builder, factor, right[k], right[i])
        scaled.append(builder.fmul(right[k], builder.call(square_root, [inverse])))
    return cgutils.pack_array(builder, scaled)


# Integers: the sorted lists of the search.


@_primitive(int8, float8)
def as_ints(builder: Value, vector: Value) -> Value:
    """``as_ints(v)``: the bits of `v`; for floats >= 0 they are ordered as the floats are."""
    return builder.bitcast(vector, INTS)


@_primitive(int8, float8)
def to_ints(builder: Value, vector: Value) -> Value:
    """``to_ints(v)``: the integers that `v` rounds down to; it must be above 0 and below 2**31."""
    return builder.fptosi(vector, INTS)


@_primitive(float8, int8)
def to_floats(builder: Value, vector: Value) -> Value:
    """``to_floats(n)``: the floats nearest to the integers `n`."""
    return builder.sitofp(vector, _FLOATS)


@_primitive(int8, int8, int8)
def pack_pairs(builder: Value, low: Value, high: Value) -> Value:
    """``pack_pairs(a, b)``: `a` in the lower and `b` in the upper 16 bits of every lane."""
    kept = builder.and_(low, ir.Constant(INTS, [0xFFFF] * LANES))
    return builder.or_(kept, builder.shl(high, ir.Constant(INTS, [16] * LANES)))


@_primitive(int8, int8, int8)
def lower_of(builder: Value, a: Value, b: Value) -> Value:
    """``lower_of(a, b)``: the smaller one, lane by lane."""
    return builder.select(builder.icmp_signed("<", a, b), a, b)


@_primitive(int8, int8, int8)
def upper_of(builder: Value, a: Value, b: Value) -> Value:
    """``upper_of(a, b)``: the larger one, lane by lane."""
    return builder.select(builder.icmp_signed(">", a, b), a, b)


@_primitive(types.UniTuple(int8, 4), int8, int8)
def shifts_in(builder: Value, previous: Value, current: Value) -> Value:
    """``shifts_in(p, c)``: `c` moved up by one, two, three and four lanes, with the last lanes of `p` in the first."""
    shifted = [_shuffle(builder, previous, current, range(LANES - by, 2 * LANES - by)) for by in (1, 2, 3, 4)]
    return cgutils.pack_array(builder, shifted)


@_primitive(types.int32, int8, int8)
def mask_below(builder: Value, a: Value, b: Value) -> Value:
    """``mask_below(a, b)``: an integer whose bit `i` tells whether ``a < b`` in lane `i`."""
    bits = builder.bitcast(builder.icmp_signed("<", a, b), ir.IntType(LANES))
    return builder.zext(bits, ir.IntType(32))


@_primitive(types.int32, types.int32)
def bit_count(builder: Value, mask: Value) -> Value:
    """``bit_count(m)``: the number of bits of `m` that are set."""
    return builder.ctpop(mask)
