"""What lies in which plane of the projection's arrays (see `records`)."""

BASE, LINKS, POSITION, ONWARD = range(4)  # of `Chains.cells`: weights, posteriors, leftovers of a pass
TABLE, TRANSPOSED, MOVES = range(3)  # of `Chains.tables`
BASE_NULLS, NULLS, FIRST, EXITS, START_MASS, BETA, WEIGHT, LEAVING, FIRST_MOVES = range(9)  # of `Chains.words`
# Of `Chains.halves`: a direction's part of q, log Z, what log Z is compared with, log p(x).
MASS, LOG_Z, PLAIN, SCORE = range(4)
OF_CELL = 2  # of `Variables.places`

# Of `Search.vectors`.  FULL is the gradient with slack, ACTIVE whether a listed constraint speaks of the directions at hand.
X, TRIAL, BOUND, GRADIENT, FULL, TRIAL_FULL, CURVATURE, LEAN, DIRECTION, ACTIVE = range(10)
STEPS, CHANGES = range(2)  # of `Search.memory`

# Of `Counted.tally`: forward-backward passes count both directions; pieces are missed that stayed short of the precision.
PIECES, PASSES, MISSED = range(3)
