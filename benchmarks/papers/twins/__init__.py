"""Small second implementations, in numpy and from the papers alone: where they and Dovetail agree, a surprise is the data's.

    python -m benchmarks.papers.twins zhao --set en-fr-hansards --size 1000

Nothing of Dovetail is used but its reader of text and its scoring.  One direction: a sentence e generates a sentence f.
"""

from __future__ import annotations
