"""Two operations on eight integers for which CPUs have an instruction, and LLVM no operation of its own.

Where the CPU has AVX2 they ask for the instruction by name, elsewhere for several operations that give the same
integers. They can be called from compiled code only.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils
from numba.core.typing.templates import signature
from numba.extending import lower_builtin

from plugplay.denoisers.bm3d.vectors import INTS, LANES, Int8, Value, define_type, int8

__all__ = ["multiply_pairs", "permute"]


def multiply_pairs(a: Int8, b: Int8) -> Int8:
    """``multiply_pairs(a, b)``: with two 16-bit integers in every lane, the sum of their two products."""
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


def _has_avx2(context: Value) -> bool:
    return "+avx2" in context.codegen().magic_tuple()[2].split(",")


def _call(builder: Value, name: str, result: Value, *args: Value) -> Value:
    kind = ir.FunctionType(result, [value.type for value in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


define_type(multiply_pairs, signature(int8, int8, int8))
lower_builtin(multiply_pairs, int8, int8)(_lower_multiply_pairs)
define_type(permute, signature(int8, int8, int8))
lower_builtin(permute, int8, int8)(_lower_permute)
