"""Everything that goes beyond numba's public interface, each with what it buys; and the octets of the samplers.

What things buy is measured by `benchmarks/tricks.py` (table: `benchmarks/results/tricks.md`), in CPU seconds.

`kernel` and `leaf` are how functions are compiled.  Around numba's cache: its files are checked (`_cache`), and loading from
it must not prepare the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
from llvmlite import ir
from llvmlite.binding import add_symbol
from numba import _dynfunc, types
from numba.core import cgutils, event
from numba.core.caching import IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler import DefaultPassBuilder as Passes
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.datamodel import PrimitiveModel, register_default
from numba.core.runtime import _nrt_python
from numba.core.typed_passes import NativeLowering
from numba.extending import intrinsic, typeof_impl
from numba.np import arrayobj

from dovetail.kernels import Kernel
from dovetail.kernels._cache import CheckedFiles
from dovetail.kernels.compiled import compilation

# Versions of numba whose inside is known to be what this module takes it to be; with any other, kernels are compiled and
# loaded in numba's own, slower way.
KNOWN_INSIDE = ((0, 68),)


def _index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
    """An index as it stands: kernels of these rooms count from the front, so that none has to be looked at for its sign.

    numba would make four instructions of it, which is as much as most loops do.  Constants it may look at.  `make bounds`
    finds a kernel that counts from the end.  Buys a tenth of `default` (10,000 pairs).
    """
    if isinstance(index, ir.Constant) or not any(room in builder.function.name for room in _FROM_THE_FRONT):
        return _numbas_index(context, builder, kind, index, size)
    return context.cast(builder, index, kind, types.intp if kind.signed else types.uintp)


# As compiled functions' names have it, each part behind its length.
_FROM_THE_FRONT = [
    f"8dovetail7kernels{len(room)}{room}" for room in ("live", "lexicon", "text", "links", "hmm", "learned")
]
if numba.version_info.short in KNOWN_INSIDE:
    _numbas_index, arrayobj.fix_integer_index = arrayobj.fix_integer_index, _index


class _Watch(event.Listener):
    """Has what is compiled counted and timed."""

    def on_start(self, event: Any) -> None:
        compilation.begin()

    def on_end(self, event: Any) -> None:
        compilation.end()


event.register("numba:compile", _Watch())


@typeof_impl.register(Kernel)
def _(value: Kernel, context: Any) -> Any:
    """A kernel that another one calls is taken for what it compiles to."""
    return typeof_impl(value.part, context)


def kernel(function: Callable[..., Any]) -> Any:
    """numba's object for the function; division by zero gives inf or nan as in numpy: no branches in inner loops."""
    try:
        compiled = numba.njit(cache=True, **_COMMON)(function)
    except RuntimeError:  # nowhere to write a cache: compile in every process rather than fail
        return numba.njit(**_COMMON)(function)
    _check_files(compiled)
    if numba.version_info.short in KNOWN_INSIDE:
        _load_quickly(compiled)
    return compiled


def part(function: Callable[..., Any]) -> Any:
    """The same for use by other kernels alone, which take it in before they are optimised, and are saved with it.

    Buys 7 of 31 seconds of compiling `default`.
    """
    return _by_plain_types(numba.njit(**_COMMON, **_only_a_part())(function))


def leaf(function: Callable[..., Any]) -> Any:
    """The same for a function inside kernels, for loops so short that counting references would show.

    numba counts the references to every array that a function takes, by instructions that all processors have to agree to:
    two dozen arrays cost as much as drawing a few words, and so does handing them over.  A leaf takes its arrays for
    granted, cannot make any, and becomes a part of the kernel that calls it.  Buys nine tenths of `hmm-fertility` and three
    quarters of `hmm-bayes`.
    """
    return _by_plain_types(numba.njit(**_COMMON, **_only_a_part(), _nrt=False, forceinline=True)(function))


def _by_plain_types(compiled: Any) -> Any:
    """Compile a part once for all numbers of a type, where numba would for each constant that it is called with.

    LLVM sees the constants all the same, since it takes the parts in.  Buys 2 of 27 seconds of compiling `default`.
    """
    if numba.version_info.short not in KNOWN_INSIDE:
        return compiled
    numbas_template = compiled.get_call_template

    def template(arguments: Any, keywords: Any) -> Any:
        return numbas_template(tuple(map(types.unliteral, arguments)), keywords)

    compiled.get_call_template = template
    return compiled


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that a kernel takes in: neither optimised by itself nor turned into instructions."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):  # type: ignore[misc]
    """numba's own last step, which makes a function ready to be called, without that."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        result = state["cr"]
        module, name = result.fndesc.lookup_module(), result.fndesc.qualname
        entry = _dynfunc.make_function(module, name, "a part of kernels", 0, result.env, (library,))
        state.targetctx.insert_user_function(entry, result.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = result._replace(cfunc=entry)
        return True


class PartCompiler(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        passes = PassManager("part")
        for some in (
            Passes.define_untyped_pipeline,
            Passes.define_typed_pipeline,
            Passes.define_nopython_lowering_pipeline,
        ):
            passes.passes.extend(some(self.state).passes)
        passes.passes = [(PartLowering, why) if one is NativeLowering else (one, why) for one, why in passes.passes]
        passes.finalize()
        return [passes]


_COMMON = {"nogil": True, "error_model": "numpy"}


def _only_a_part() -> dict[str, Any]:
    known = numba.version_info.short in KNOWN_INSIDE
    return {"pipeline_class": PartCompiler, "no_cpython_wrapper": True} if known else {}


def _check_files(compiled: Any) -> None:
    """Have numba's files checked: one that is damaged is compiled again, and one that cannot be written is not missed."""
    store = getattr(compiled, "_cache", None)
    files = getattr(store, "_cache_file", None)
    if isinstance(files, IndexDataCacheFile):  # else numba keeps its cache elsewhere by now
        store._cache_file = CheckedFiles.instead_of(files, store._impl.filename_base)


def _load_quickly(compiled: Any) -> None:
    """Load what was compiled before without preparing numba's compiler: 0.3 seconds of every start."""
    store = compiled._cache
    load = store.load_overload

    def load_quickly(signature: Any, context: Any) -> Any:
        _name_runtime()
        with store._guard_against_spurious_io_errors():
            found = store._load_overload(signature, context)
            if found is not None:
                return found
        return load(signature, context)

    store.load_overload = load_quickly


@cache
def _name_runtime() -> None:
    """Tell LLVM where numba's runtime is, as numba does before it compiles what else a compiler needs."""
    for name, address in _nrt_python.c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


# Octets: eight float32 at once, what the inner loops of samplers and of learned trees are made of.  numba leaves vectors to
# LLVM, which finds them in plain loops but not in prefix sums, nor in "which of these eight", nor where arrays might be
# the same: here they are written down.  An octet is a value like a number; every processor has it, the wide ones in one
# instruction.  Buys a third of `hmm-fertility`.  So is `fetch`, which numba has no word for: a twentieth.

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
    made = context.make_array(kind)(context, builder, array)
    if numba.config.BOUNDSCHECK:  # which numba does itself for what it knows
        last = builder.add(index, ir.Constant(index.type, OCTET))
        beyond = builder.or_(*(builder.icmp_unsigned(">", place, made.nitems) for place in (index, last)))
        with builder.if_then(beyond, likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("eight numbers out of bounds",))
    return builder.bitcast(builder.gep(made.data, [index]), FLOATS.as_pointer())


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
def either(typing: Any, bits: Any, a: Any, b: Any) -> Any:
    """Those of a whose bit is set, else those of b."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.bitcast(arguments[0], MASK), *arguments[1:])

    return octet(types.uint8, octet, octet), code


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
def transpose(typing: Any, array: Any, index: Any, step: Any, rows: Any, other: Any, place: Any, width: Any) -> Any:
    """other[place + width * m + k] = array[index + step * k + m] for eight k and m; zeros for k from `rows` on."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, index, step, rows, other, place, width = arguments
        zeros, number = ir.Constant(FLOATS, [0.0] * OCTET), ir.IntType(64)
        octets = []
        for k in range(OCTET):
            there = builder.icmp_unsigned("<", ir.Constant(number, k), rows)
            at = builder.add(
                index, builder.mul(step, builder.select(there, ir.Constant(number, k), ir.Constant(number, 0)))
            )
            values = builder.load(_place(context, builder, signature.args[0], array, at), align=4)
            octets.append(builder.select(there, values, zeros))
        for distance in (4, 2, 1):  # blocks of four, two, one change places
            turned = list(octets)
            for k in range(OCTET):
                if k & distance:
                    continue
                a, b = octets[k], octets[k + distance]
                low = [m if not m & distance else OCTET + m - distance for m in range(OCTET)]
                high = [m + distance if not m & distance else OCTET + m for m in range(OCTET)]
                turned[k] = builder.shuffle_vector(a, b, ir.Constant(LANES, low))
                turned[k + distance] = builder.shuffle_vector(a, b, ir.Constant(LANES, high))
            octets = turned
        for m in range(OCTET):
            at = builder.add(place, builder.mul(width, ir.Constant(number, m)))
            builder.store(octets[m], _place(context, builder, signature.args[4], other, at), align=4)
        return context.get_dummy_value()

    u = types.uint64
    return types.void(array, u, u, u, other, u, u), code


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
