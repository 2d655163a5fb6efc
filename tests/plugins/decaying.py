"""A distortion factor of a user's own: jumps by two numbers, how fast weights fall to the left and to the right."""

from dataclasses import dataclass

import numpy as np

import dovetail
from dovetail.models.jumps.distance import JumpFactor


@dovetail.jump_factors.register(
    "decaying", "weights that fall by half with so many words, to the left and to the right"
)
@dataclass(frozen=True)
class DecayingJumps(JumpFactor):
    reach: np.ndarray  # float64 (2,): words to the left and to the right after which weights have halved

    kind = "decaying"

    @classmethod
    def uniform(cls, window=5):
        return cls(np.full(2, float(window)))

    def expand(self, longest):
        distance = np.arange(-longest, longest + 1) - 1
        reach = np.where(distance < 0, self.reach[0], self.reach[1])
        start = np.exp2(-np.arange(longest) / self.reach[1])
        return np.exp2(-np.abs(distance) / reach).astype(np.float32), start.astype(np.float32)

    def reestimate(self, counts):
        longest = counts.start.shape[1]
        distance, moves = np.arange(-longest, longest + 1) - 1, counts.jump[0]
        means = [
            moves[side] @ np.abs(distance[side]) / max(moves[side].sum(), 1e-9)
            for side in (distance < 0, distance >= 0)
        ]
        return DecayingJumps(np.maximum(np.array(means), 0.2))

    def arrays(self):
        return {".reach": self.reach}

    @classmethod
    def from_arrays(cls, arrays):
        if arrays[".reach"].shape != (2,) or not (arrays[".reach"] > 0).all():
            raise ValueError("not two lengths")
        return cls(arrays[".reach"])
