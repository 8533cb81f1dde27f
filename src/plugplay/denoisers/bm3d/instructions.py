"""Three operations on eight integers for which CPUs have an instruction, and LLVM no operation of its own.

Where the CPU has AVX2, and for bytes one of its successors, they ask for the instruction by name, elsewhere for several
operations that give the same integers. They can be called from compiled code only.
"""

from __future__ import annotations

import functools

from llvmlite import ir
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.core.typing.templates import signature
from numba.extending import lower_builtin

from plugplay.denoisers.bm3d.vectors import INTS, LANES, Int8, Value, define_type, int8

__all__ = ["has_byte_products", "multiply_bytes", "multiply_pairs", "permute"]


def multiply_pairs(a: Int8, b: Int8) -> Int8:
    """``multiply_pairs(a, b)``: with two 16-bit integers in every lane, the sum of their two products."""
    raise NotImplementedError("for compiled code only")


def multiply_bytes(total: Int8, a: Int8, b: Int8) -> Int8:
    """``multiply_bytes(t, a, b)``: t plus, with four bytes in every lane, the sum of their four products.

    The bytes of `a` are unsigned, those of `b` signed.
    """
    raise NotImplementedError("for compiled code only")


def permute(vector: Int8, lanes: Int8) -> Int8:
    """``permute(v, p)``: lane ``p[i]`` of `v` in lane `i`."""
    raise NotImplementedError("for compiled code only")


def _lower_multiply_pairs(context: Value, builder: Value, sig: Value, args: Value) -> Value:  # noqa: ARG001
    if _has_avx2(context):
        halves = ir.VectorType(ir.IntType(16), 2 * LANES)
        pairs = [builder.bitcast(value, halves) for value in args]
        return _call(builder, "llvm.x86.avx2.pmadd.wd", INTS, *pairs)
    sixteen = ir.Constant(INTS, [16] * LANES)
    upper = [builder.ashr(value, sixteen) for value in args]
    lower = [builder.ashr(builder.shl(value, sixteen), sixteen) for value in args]
    return builder.add(builder.mul(*lower), builder.mul(*upper))


def _lower_multiply_bytes(context: Value, builder: Value, sig: Value, args: Value) -> Value:  # noqa: ARG001
    if _has_byte_products(context):
        return _call(builder, "llvm.x86.avx512.vpdpbusd.256", INTS, *args)
    total, a, b = args
    last = ir.Constant(INTS, [24] * LANES)
    for place in (24, 16, 8, 0):
        shift = ir.Constant(INTS, [place] * LANES)
        unsigned = builder.lshr(builder.shl(a, shift), last)
        signed = builder.ashr(builder.shl(b, shift), last)
        total = builder.add(total, builder.mul(unsigned, signed))
    return total


def _lower_permute(context: Value, builder: Value, sig: Value, args: Value) -> Value:  # noqa: ARG001
    if _has_avx2(context):
        return _call(builder, "llvm.x86.avx2.permd", INTS, *args)
    vector, lanes = args
    permuted = vector
    for i in range(LANES):
        place = ir.Constant(ir.IntType(32), i)
        chosen = builder.extract_element(vector, builder.extract_element(lanes, place))
        permuted = builder.insert_element(permuted, chosen, place)
    return permuted


@functools.cache
def has_byte_products() -> bool:
    """Tell whether `multiply_bytes` is one instruction, and so faster than `multiply_pairs` twice."""
    return _has_byte_products(cpu_target.target_context)


def _has_avx2(context: Value) -> bool:
    return "avx2" in _features(context)


def _has_byte_products(context: Value) -> bool:
    features = _features(context)
    return {"avx512vnni", "avx512vl"} <= features or "avxvnni" in features


def _features(context: Value) -> set[str]:
    """Return what the CPU has that code is compiled for."""
    return {name[1:] for name in context.codegen().magic_tuple()[2].split(",") if name.startswith("+")}


def _call(builder: Value, name: str, result: Value, *args: Value) -> Value:
    kind = ir.FunctionType(result, [value.type for value in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


define_type(multiply_pairs, signature(int8, int8, int8))
lower_builtin(multiply_pairs, int8, int8)(_lower_multiply_pairs)
define_type(multiply_bytes, signature(int8, int8, int8, int8))
lower_builtin(multiply_bytes, int8, int8, int8)(_lower_multiply_bytes)
define_type(permute, signature(int8, int8, int8))
lower_builtin(permute, int8, int8)(_lower_permute)
