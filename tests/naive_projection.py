"""The projection by a general solver: every alignment of a tiny sentence has its own probability, scipy does the rest."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

import naive


class Space:
    """All alignments of one direction, or of both as halves of one distribution, with the model's probabilities.

    `links[a, d, i, j]` says whether alignment a belongs to direction d and links i to j.
    """

    def __init__(self, joints, I, J):
        self.probability, rows, self.direction = [], [], []
        for d, joint in joints.items():
            shape = (I, J) if d == 0 else (J, I)
            found = naive.alignments(*shape)
            values = np.array([joint(a) for a in found])
            self.probability.append(values / values.sum() / len(joints))
            for alignment in found:
                link = np.zeros((2, I, J))
                for word, position in enumerate(alignment):
                    if position != naive.NULL:
                        link[(d, position, word) if d == 0 else (d, word, position)] = 1
                rows.append(link)
                self.direction.append(d)
        self.probability = np.concatenate(self.probability)
        self.links = np.array(rows)
        self.direction = np.array(self.direction)
        self.halves = len(joints) == 2

    def posteriors(self, q):
        """P (2, I, J): link probabilities within each direction; twice the joint ones where both share the mass."""
        return np.tensordot(q, self.links, 1) * (2 if self.halves else 1)

    def features(self, weights):
        """f(z) of constraints (K, 2, I, J) on those posteriors."""
        return np.tensordot(self.links, weights, ([1, 2, 3], [1, 2, 3])) * (2 if self.halves else 1)


def project(space, at_most=(), equal=(), slack=0.0, equal_masses=True):
    """argmin over q of KL(q || p) with E_q[f] <= b for (weights, b) in `at_most`, and E_q[f] = b for those in `equal`.

    With `slack` the equalities may be missed by so much in Euclidean length (equation 6).  Returns q and the KL.
    """
    p = space.probability

    def divergence(q):
        q = np.maximum(q, 1e-300)
        return float(q @ np.log(q / p)), np.log(q / p) + 1

    rules = [{"type": "eq", "fun": lambda q: q.sum() - 1, "jac": lambda q: np.ones_like(q)}]
    if space.halves and equal_masses:
        half = (space.direction == 0).astype(float)
        rules.append({"type": "eq", "fun": lambda q: half @ q - 0.5, "jac": lambda q: half})
    if len(at_most):
        f = space.features(np.array([w for w, _ in at_most]))
        b = np.array([bound for _, bound in at_most])
        rules.append({"type": "ineq", "fun": lambda q: b - q @ f, "jac": lambda q: -f.T})
    if len(equal):
        g = space.features(np.array([w for w, _ in equal]))
        c = np.array([bound for _, bound in equal])
        if slack:
            rules.append(
                {
                    "type": "ineq",
                    "fun": lambda q: slack**2 - ((q @ g - c) ** 2).sum(),
                    "jac": lambda q: -2 * g @ (q @ g - c),
                }
            )
        else:
            rules.append({"type": "eq", "fun": lambda q: q @ g - c, "jac": lambda q: g.T})
    found = minimize(
        divergence, p, jac=True, bounds=[(1e-12, 1)] * len(p), constraints=rules, method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )  # fmt: skip
    return found.x, found.fun


def symmetric_features(I, J):
    """f_ij = +1 for a forward link, -1 for a reverse one (section 3.4), as weights on posteriors (twice the mass)."""
    weights = np.zeros((I * J, 2, I, J))
    for k in range(I * J):
        weights[k, 0, k // J, k % J] = 0.5
        weights[k, 1, k // J, k % J] = -0.5
    return [(w, 0.0) for w in weights]


def word_features(I, J, direction, bounds):
    """Expected links of each position in the direction that it generates."""
    rules = []
    for k, bound in enumerate(bounds):
        weights = np.zeros((2, I, J))
        weights[(0, k) if direction == 0 else (1, slice(None), k)] = 1.0
        if np.isfinite(bound):
            rules.append((weights, bound))
    return rules
