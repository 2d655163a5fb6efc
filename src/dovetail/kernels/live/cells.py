"""Live cells: the few that a link may take, listed by row, so that all later work passes over the rest.

A cell lives if it holds a notable share of the probability in its column (forward) or in its row (reverse).
"""

from __future__ import annotations

import numpy as np

from dovetail.kernels import kernel, leaf
from dovetail.kernels.hmm.dense import total_of
from dovetail.kernels.lexicon.counted import without
from dovetail.kernels.lexicon.slots import row_of, slot_of
from dovetail.kernels.lexicon.table import rounded
from dovetail.kernels.records import CELL, LENGTH_I, LENGTH_J, ROW, SOURCE, TARGET


@kernel
def select(first, last, pieces, ranks, work, share, width):
    """Live cells of pieces first..last - 1: at least `share` of a column's sum in `forward`, or of a row's in `reverse`.

    Returns their numbers by row, columns, slots (32 bits if `width` is an array of such), and both values.
    """
    lines, source_ids, target_ids = pieces
    forward, reverse = work.forward, work.reverse
    rows = 0
    longest = 0
    for piece in range(first, last):
        rows += lines[piece, LENGTH_I]
        longest = max(longest, lines[piece, LENGTH_J])
    numbers = np.empty(rows, np.int32)
    room = 4 * rows + longest
    columns = np.empty(room, np.uint16)
    slots = np.empty(room, width.dtype)
    of_forward = np.empty(room, np.float32)
    of_reverse = np.empty(room, np.float32)
    enough = np.empty(longest, np.float32)
    share = np.float32(share)
    used = 0
    done = 0
    for piece in range(first, last):
        line = lines[piece]
        I, J, cell = line[LENGTH_I], line[LENGTH_J], line[CELL]
        enough_in_columns(line, forward, share, enough)
        for i in range(I):
            if used + J > room:
                room = 2 * room + J
                columns, slots = _grown(columns, room), _grown(slots, room)
                of_forward, of_reverse = _grown(of_forward, room), _grown(of_reverse, room)
            row = row_of(ranks.row_start, source_ids[line[SOURCE] + i])
            begin = used
            used = live_in_row(cell, J, forward, reverse, share, enough, used, columns, of_forward, of_reverse)
            for k in range(begin, used):
                j = np.int64(columns[k])
                slots[k] = slot_of(row, ranks.rank, cell + j, target_ids, line[TARGET] + j)
            numbers[done] = used - begin
            done += 1
            cell += J
    return numbers, columns[:used].copy(), slots[:used].copy(), of_forward[:used].copy(), of_reverse[:used].copy()


@leaf
def enough_in_columns(line, forward, share, enough):
    """enough[j] = what keeps a cell of column j alive."""
    J, cell = line[LENGTH_J], line[CELL]
    enough[:J] = np.float32(0.0)
    for i in range(line[LENGTH_I]):
        of_row = forward[cell + i * J : cell + (i + 1) * J]
        for j in range(J):
            enough[j] += of_row[j]
    for j in range(J):
        enough[j] *= share


@leaf
def live_in_row(cell, J, forward, reverse, share, enough, used, columns, of_forward, of_reverse):
    """Put the live cells of a row behind the `used` ones that are listed; returns how many there are now."""
    p = forward[cell : cell + J]
    r = reverse[cell : cell + J]
    enough_in_row = share * total_of(r)
    begin = used
    for j in range(J):  # written always, kept if alive: no branch to guess wrong
        columns[used] = j
        used += (p[j] >= enough[j]) | (r[j] >= enough_in_row)
    for k in range(begin, used):
        of_forward[k] = p[columns[k]]
        of_reverse[k] = r[columns[k]]
    return used


@kernel
def narrow(first, last, lines, live, values, share, kept, numbers):
    """The same choice among live cells: kept[k] = whether cell k has its share still; `numbers` (rows,) are left per row."""
    start, column = live.start, live.column
    forward, reverse = values
    longest = 0
    for piece in range(first, last):
        longest = max(longest, lines[piece, LENGTH_J])
    enough = np.empty(longest, np.float32)
    share = np.float32(share)
    for piece in range(first, last):
        keep_live(lines[piece], lines[piece, ROW], start, column, forward, reverse, share, enough, kept, numbers)


@leaf
def keep_live(line, row, start, column, forward, reverse, share, enough, kept, numbers):
    """The choice for one piece, whose first row is `row` of the lists."""
    I, J = line[LENGTH_I], line[LENGTH_J]
    enough[:J] = np.float32(0.0)
    for k in range(start[row], start[row + I]):
        enough[column[k]] += forward[k]
    for j in range(J):
        enough[j] *= share
    for i in range(row, row + I):
        enough_in_row = share * total_of(reverse[start[i] : start[i + 1]])
        left = 0
        for k in range(start[i], start[i + 1]):
            kept[k] = (forward[k] >= enough[column[k]]) | (reverse[k] >= enough_in_row)
            left += kept[k]
        numbers[i] = left


@kernel
def keep(first, last, old, new, lines, start, kept, new_start):
    """Those of the `old` numbers of live cells that are `kept`, for pieces first..last - 1, where new lists have them."""
    if first == last:
        return
    row, end = lines[first, ROW], lines[last - 1, ROW] + lines[last - 1, LENGTH_I]
    used = new_start[row]
    for k in range(start[row], start[end]):
        if kept[k]:
            new[used] = old[k]
            used += 1


@kernel
def carry_over(old, new, old_start, old_column, start, column):
    """Give cells that were live before what is known of them: one number each in `old` and `new`."""
    for row in range(len(start) - 1):
        m = old_start[row]
        end = old_start[row + 1]
        for k in range(start[row], start[row + 1]):
            while m < end and old_column[m] < column[k]:
                m += 1
            if m < end and old_column[m] == column[k]:
                new[k] = old[m]


@kernel
def _grown(values, room):
    larger = np.empty(room, values.dtype)
    for k in range(len(values)):  # `larger[:n] = values` would compile numba's strings for a message about shapes
        larger[k] = values[k]
    return larger


@kernel
def gather(order, row_piece, pieces, live, entries, values):
    """Emissions of the live cells of the rows in `order`: each one's own count taken out, messages multiplied in."""
    lines, source_ids, target_ids = pieces
    start, column, slot, count, to_forward, to_reverse = live
    support, sources, targets, weights = entries
    forward, reverse = values
    for k in range(len(order)):
        row = order[k]
        line = lines[row_piece[row]]
        source = sources[source_ids[line[SOURCE] + row - line[ROW]]]
        for entry in range(start[row], start[row + 1]):
            target = targets[target_ids[line[TARGET] + column[entry]]]
            place = slot[entry]
            own = count[entry]
            forward[entry] = to_forward[entry] * without(own, support[place], source, target, weights)
            reverse[entry] = to_reverse[entry] * without(own, support[place], target, source, weights)


@kernel
def scatter(order, live, counts):
    """Add the live cells' counts to their slots."""
    start, slot, count = live.start, live.slot, live.count
    for k in range(len(order)):
        for entry in range(start[order[k]], start[order[k] + 1]):
            if count[entry] > 0.0:
                counts[slot[entry]] += rounded(count[entry])


@kernel
def mark_used(slot, used):
    """Mark the slots of live cells."""
    for place in slot:
        used[place] = True


@kernel
def fill(first, last, lines, live, values, cells):
    """Write the live cells' values where all cells have a place, and zeros around them."""
    start, column = live.start, live.column
    for piece in range(first, last):
        line = lines[piece]
        I, J, cell, row = line[LENGTH_I], line[LENGTH_J], line[CELL], line[ROW]
        cells[cell : cell + I * J] = np.float32(0.0)
        for i in range(I):
            for entry in range(start[row + i], start[row + i + 1]):
                cells[cell + i * J + column[entry]] = values[entry]
