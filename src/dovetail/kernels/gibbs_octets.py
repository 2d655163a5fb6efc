"""Eight float32 at once: what the sampler's inner loops are made of.

numba leaves vectors to LLVM, which finds them in plain loops but not in prefix sums, nor in "which of these eight": here
they are written down.  An octet is a value like a number; every processor has it, the wide ones in one instruction.
So is `fetch`, which numba has no word for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel, register_default
from numba.extending import intrinsic

OCTET = 8
FLOATS = ir.VectorType(ir.FloatType(), OCTET)
LANES = ir.VectorType(ir.IntType(32), OCTET)
MASK = ir.VectorType(ir.IntType(1), OCTET)
BITS = ir.IntType(OCTET)


class OctetType(types.Type):
    def __init__(self) -> None:
        super().__init__(name="octet")


octet = OctetType()


@register_default(OctetType)
class OctetModel(PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOATS)


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """The address of eight numbers; unsigned indices are not looked at for their sign."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), FLOATS.as_pointer())


def _spread(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(FLOATS, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, ir.Constant(FLOATS, ir.Undefined), ir.Constant(LANES, [0] * OCTET))


@intrinsic
def load(typing: Any, array: Any, index: Any) -> Any:
    """array[index], ... array[index + 7]"""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, array, *arguments), align=4)

    return octet(array, types.uint64), code


@intrinsic
def store(typing: Any, array: Any, index: Any, values: Any) -> Any:
    """array[index : index + 8] = values"""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _place(context, builder, array, *arguments[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.uint64, octet), code


@intrinsic
def nothing(typing: Any) -> Any:
    """Eight zeros."""
    return octet(), lambda context, builder, signature, arguments: ir.Constant(FLOATS, [0.0] * OCTET)


@intrinsic
def plus(typing: Any, a: Any, b: Any) -> Any:
    return octet(octet, octet), lambda context, builder, signature, arguments: builder.fadd(*arguments)


@intrinsic
def times(typing: Any, a: Any, b: Any) -> Any:
    return octet(octet, octet), lambda context, builder, signature, arguments: builder.fmul(*arguments)


@intrinsic
def running(typing: Any, a: Any) -> Any:
    """Sums of the first 1, 2 ... 8."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (sums,) = arguments
        zeros = ir.Constant(FLOATS, [0.0] * OCTET)
        for step in (1, 2, 4):
            lanes = [OCTET + k if k < step else k - step for k in range(OCTET)]
            sums = builder.fadd(sums, builder.shuffle_vector(sums, zeros, ir.Constant(LANES, lanes)))
        return sums

    return octet(octet), code


@intrinsic
def last(typing: Any, a: Any) -> Any:
    """The eighth."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], ir.Constant(ir.IntType(32), OCTET - 1))

    return types.float32(octet), code


@intrinsic
def spread(typing: Any, value: Any) -> Any:
    """Eight times the same number."""
    return octet(types.float32), lambda context, builder, signature, arguments: _spread(builder, *arguments)


@intrinsic
def at_least(typing: Any, a: Any, b: Any) -> Any:
    """A bit for each of the eight: whether a is at least b."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fcmp_ordered(">=", *arguments), BITS)

    return types.uint8(octet, octet), code


@intrinsic
def chosen(typing: Any, a: Any, bits: Any) -> Any:
    """Those whose bit is set, and zeros."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        mask = builder.bitcast(arguments[1], MASK)
        return builder.select(mask, arguments[0], ir.Constant(FLOATS, [0.0] * OCTET))

    return octet(octet, types.uint8), code


@intrinsic
def number_of(typing: Any, bits: Any) -> Any:
    """How many bits are set."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.ctpop(arguments[0]), ir.IntType(64))

    return types.uint64(types.uint8), code


@intrinsic
def first_of(typing: Any, bits: Any) -> Any:
    """Which bit is the first one set."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), code


@intrinsic
def fetch(typing: Any, array: Any, index: Any) -> Any:
    """Have array[index] brought into the cache; nobody waits for it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(prefetch, [place, number(0), number(3), number(1)])  # to read, to all levels, as data
        return context.get_dummy_value()

    return types.void(array, types.uint64), code
