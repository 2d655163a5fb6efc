"""A concordance for the terminal: key words in the middle, their contexts around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dovetail.uses.concordance import Concordance


def lines(found: Concordance, width: int = 100) -> Iterator[str]:
    """For a person: each translation, and its places, the word in the middle, both sentences, links between brackets."""
    for group in found.groups:
        share = 100 * group.count / found.count
        yield f"{group.translation or '(no link)'}  {group.count:,} ({share:.1f} %)"
        for hit in group.hits:
            number = f"{hit.pair:>9,}  "
            room = max(20, width - len(number))
            yield number + kwic(hit.words, hit.here, room)
            yield " " * len(number) + kwic(hit.others, hit.there, room)
        yield ""
    hidden = found.translations - len(found.groups)
    rest = f", {hidden:,} more not shown" if hidden > 0 else ""
    places, kinds = ("" if number == 1 else "s" for number in (found.count, found.translations))
    yield f"{found.count:,} place{places}, {found.translations:,} translation{kinds}{rest}"


def kwic(words: Sequence[str], marked: Sequence[int], width: int) -> str:
    """A sentence with marked words between brackets, the first of them in the middle, cut to the width."""
    marks = set(marked)
    shown = [f"[{word}]" if n in marks else word for n, word in enumerate(words)]
    middle = min(marked, default=len(words) // 2)
    left, right = " ".join(shown[:middle]), " ".join(shown[middle:])
    room = width // 2
    if len(left) >= room:
        left = "…" + left[len(left) - room + 2 :]
    rest = width - room
    if len(right) > rest:
        right = right[: rest - 1] + "…"
    return f"{left:>{room - 1}} {right}".rstrip()
