"""Which alignment is best."""

from dovetail.decoding.bidirectional_map import bidirectional_map
from dovetail.decoding.fertility_map import fertility_map

__all__ = ["bidirectional_map", "fertility_map"]
