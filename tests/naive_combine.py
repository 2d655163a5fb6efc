"""The slow, obvious combiners: sets of links of one pair, and Koehn's description line by line."""

from __future__ import annotations

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))

Links = set[tuple[int, int]]


def row_free(links: Links, i: int) -> bool:
    return all(other != i for other, _ in links)


def column_free(links: Links, j: int) -> bool:
    return all(other != j for _, other in links)


def grow_diag(forward: Links, reverse: Links, I: int, J: int) -> Links:
    links = forward & reverse
    union = forward | reverse
    added = True
    while added:
        added = False
        for i in range(I):
            for j in range(J):
                if (i, j) not in links:
                    continue
                for di, dj in NEIGHBOURS:
                    new = (i + di, j + dj)
                    if new in links or new not in union:
                        continue
                    if row_free(links, new[0]) or column_free(links, new[1]):
                        links = links | {new}
                        added = True
    return links


def final(links: Links, side: Links, both: bool) -> Links:
    for i, j in sorted(side):
        free = (row_free(links, i), column_free(links, j))
        if all(free) if both else any(free):
            links = links | {(i, j)}
    return links


def combine(name: str, forward: Links, reverse: Links, I: int, J: int) -> Links:
    if name == "forward":
        return forward
    if name == "reverse":
        return reverse
    if name == "intersection":
        return forward & reverse
    if name == "union":
        return forward | reverse
    links = grow_diag(forward, reverse, I, J)
    if name == "grow-diag-final":
        links = final(final(links, forward, both=False), reverse, both=False)
    if name == "grow-diag-final-and":
        links = final(final(links, forward, both=True), reverse, both=True)
    return links
