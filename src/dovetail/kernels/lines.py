"""How a kernel is told where a piece lies: one line of seven integers, relative to its block.

ROW, COLUMN and CELL count what comes before the piece in the block's buffers; SOURCE and TARGET point into the packed
ids; I and J are its lengths.  Cell (i, j) of a piece is at CELL + i * J + j.
"""

ROW, COLUMN, CELL, SOURCE, TARGET, LENGTH_I, LENGTH_J = range(7)
