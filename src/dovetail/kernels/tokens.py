"""Tokens of raw bytes to numbers: cut at ASCII whitespace, one hash table for all that was met."""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel


@kernel
def number_tokens(text, ends, first, table, hashes, starts, store, known, ids, used, counts):
    """Number the tokens of lines `first`... of `text`; line n ends at ends[n + 1].

    Token type k is store[starts[k]:starts[k + 1]], with hashes[k]; `table` (a power of two, -1 for nothing) finds it by its
    hash.  `known` types are there already, and new ones are added as they come.  Numbers go to ids[used:], how many each
    line has to counts[line].  Returns the line where it stopped, types and numbers: before the end, if room might run out.
    """
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
            code = np.uint64(0xCBF29CE484222325)  # FNV-1a
            while position < high and not is_blank(text[position]):
                code = (code ^ np.uint64(text[position])) * np.uint64(0x100000001B3)
                position += 1
            code ^= code >> np.uint64(32)
            place = code & mask
            while table[place] >= 0 and not (
                hashes[table[place]] == code and same(text, begin, position, store, starts, table[place])
            ):
                place = (place + np.uint64(1)) & mask
            if table[place] < 0:
                table[place] = known
                hashes[known] = code
                start = starts[known]
                for k in range(position - begin):
                    store[start + k] = text[begin + k]
                known += 1
                starts[known] = start + position - begin
            ids[used] = table[place]
            used += 1
        counts[line] = used - before
    return len(ends) - 1, known, used


@kernel
def is_blank(byte):
    """Whether bytes.split cuts here."""
    return byte == 32 or (byte >= 9 and byte <= 13)


@kernel
def same(text, begin, end, store, starts, number):
    start = starts[number]
    if starts[number + 1] - start != end - begin:
        return False
    for k in range(end - begin):  # noqa: SIM110 (numba has no `all` of a generator)
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
