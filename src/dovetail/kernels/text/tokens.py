"""Tokens of raw bytes to numbers: cut at ASCII whitespace, one hash table for all that was met."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dovetail.kernels import kernel, leaf

HEAD = 8  # bytes of a token in one number


class Types(NamedTuple):
    """Token type k is store[starts[k]:starts[k + 1]]; most have no more than their head, and are compared at once."""

    table: np.ndarray  # int32 (a power of two,): finds a type by its hash, -1 for nothing
    hashes: np.ndarray  # uint64 (types,)
    heads: np.ndarray  # uint64 (types,): the first eight bytes in one number
    starts: np.ndarray  # int64 (types + 1,)
    store: np.ndarray  # uint8


@kernel
def number_tokens(text, ends, first, types, known, ids, used, counts):
    """Number the tokens of lines `first`... of `text`; line n ends at ends[n + 1].

    `known` types are there already, and new ones are added as they come.  Numbers go to ids[used:], how many each
    line has to counts[line].  Returns the line where it stopped, types and numbers: before the end, if room might run out.
    """
    table, hashes, heads, starts, store = types
    mask = np.uint64(len(table) - 1)
    for line in range(first, len(ends) - 1):
        low, high = ends[line], ends[line + 1]
        most = (high - low + 1) // 2
        if 2 * (known + most) > len(table) or known + most > len(hashes) or starts[known] + high - low > len(store):
            return line, known, used
        before = used
        position = low
        while position < high:
            if is_blank(text[position]):
                position += 1
                continue
            begin = position
            head = np.uint64(0)
            shift = np.uint64(0)
            while position < min(high, begin + HEAD) and not is_blank(text[position]):
                head |= np.uint64(text[position]) << shift
                shift += np.uint64(8)
                position += 1
            code = head
            while position < high and not is_blank(text[position]):
                code = mixed(code, text[position])
                position += 1
            length = position - begin
            code = finished(code, length)
            place = code & mask
            number = table[place]
            while number >= 0 and not (
                heads[number] == head
                and starts[number + 1] - starts[number] == length
                and same_tail(text, begin, length, store, starts[number])
            ):
                place = (place + np.uint64(1)) & mask
                number = table[place]
            if number < 0:
                number = known
                table[place] = number
                hashes[number] = code
                heads[number] = head
                start = starts[number]
                for k in range(length):
                    store[start + k] = text[begin + k]
                known += 1
                starts[known] = start + length
            ids[used] = number
            used += 1
        counts[line] = used - before
    return len(ends) - 1, known, used


@leaf
def mixed(code, byte):
    """The hash of a token's head and some of its further bytes, with one more: FNV-1a."""
    return (code ^ np.uint64(byte)) * np.uint64(0x100000001B3)


@leaf
def finished(code, length):
    """A token's hash: Fibonacci's, for tables of any power of two."""
    code = (code ^ np.uint64(length)) * np.uint64(0x9E3779B97F4A7C15)
    return code ^ (code >> np.uint64(32))


@kernel
def hash_tokens(store, starts, hashes, heads):
    """Hashes and heads of tokens that are there already, as `number_tokens` makes them."""
    for number in range(len(starts) - 1):
        begin, end = starts[number], starts[number + 1]
        head = np.uint64(0)
        for position in range(begin, min(end, begin + HEAD)):
            head |= np.uint64(store[position]) << np.uint64(8 * (position - begin))
        code = head
        for position in range(begin + HEAD, end):
            code = mixed(code, store[position])
        hashes[number] = finished(code, end - begin)
        heads[number] = head


@kernel
def find_tokens(own, known, types, numbers):
    """numbers[k] = which of `types` the k-th of our own `known` types is, -1 for none."""
    for k in range(known):
        numbers[k] = types.table[place_of(own, k, types)]


@leaf
def place_of(others, k, types):
    """Where the table of `types` has the k-th of some other types, or would have it."""
    table, _, heads, starts, store = types
    mask = np.uint64(len(table) - 1)
    begin = others.starts[k]
    length = others.starts[k + 1] - begin
    place = others.hashes[k] & mask
    number = table[place]
    while number >= 0 and not (
        heads[number] == others.heads[k]
        and starts[number + 1] - starts[number] == length
        and same_tail(others.store, begin, length, store, starts[number])
    ):
        place = (place + np.uint64(1)) & mask
        number = table[place]
    return place


@kernel
def add_tokens(others, first, last, types, known, numbers):
    """Add types first..last - 1 of `others` to the `known` ones, unless they are there; numbers[k] = which one k is.

    Returns the type where it stopped and how many are known: before the end, if room might run out.
    """
    table, hashes, heads, starts, store = types
    for k in range(first, last):
        begin = others.starts[k]
        length = others.starts[k + 1] - begin
        if 2 * (known + 1) > len(table) or known == len(hashes) or starts[known] + length > len(store):
            return k, known
        place = place_of(others, k, types)
        number = table[place]
        if number < 0:
            number = known
            table[place] = number
            hashes[number] = others.hashes[k]
            heads[number] = others.heads[k]
            start = starts[number]
            for b in range(length):
                store[start + b] = others.store[begin + b]
            known += 1
            starts[known] = start + length
        numbers[k] = number
    return last, known


@kernel
def is_blank(byte):
    """Whether bytes.split cuts here."""
    return byte == 32 or (byte >= 9 and byte <= 13)


@kernel
def same_tail(text, begin, length, store, start):
    """Whether the bytes after the head are the same."""
    for k in range(HEAD, length):  # noqa: SIM110 (numba has no `all` of a generator)
        if store[start + k] != text[begin + k]:
            return False
    return True


@kernel
def spread(hashes, known, table):
    """Put the known types into a fresh table."""
    mask = np.uint64(len(table) - 1)
    for number in range(known):
        place = hashes[number] & mask
        while table[place] >= 0:
            place = (place + np.uint64(1)) & mask
        table[place] = number
