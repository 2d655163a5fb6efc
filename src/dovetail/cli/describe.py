"""`dovetail describe`: what an alignment looks like, beside how right it is."""

from __future__ import annotations

import json
from typing import Any

import click

from dovetail.cli.aligned import aligned_text, open_aligned


@click.command()
@aligned_text
@click.option("--reverse", metavar="FILE", help="The other direction's links: how far the two agree.")
@click.option("--gold", metavar="FILE", help="Gold links: scores of rare and of common words apart.")
@click.option(
    "--rare", type=click.IntRange(1), default=5, show_default=True, help="A word seen at most this often is rare."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def describe(reverse: str | None, gold: str | None, rare: int, as_json: bool, **values: Any) -> None:
    """What an alignment looks like: one-to-one share, fertilities, symmetry, size of the induced dictionary.

    SOURCE and TARGET are read as by `dovetail align`.  Fertility is how many links a source word takes; with --gold,
    precision and recall of rare and common source words are told apart by how often they occur in the text.
    """
    from dovetail.alignments.formats import read_alignments
    from dovetail.alignments.gold import read_gold
    from dovetail.evaluation import (
        dictionary_size,
        evaluate_by_frequency,
        fertilities,
        one_to_one_share,
        symmetry,
    )

    bitext, links = open_aligned(values).whole(keep_text=False)
    source, target = bitext.source, bitext.target
    of_words = fertilities(links)
    found: dict[str, Any] = {
        "pairs": len(links),
        "links": len(links.source),
        "one_to_one": one_to_one_share(links),
        "fertility": {
            "histogram": of_words.histogram.tolist(),
            "mean": of_words.mean,
            "from_4_to_7": of_words.high,
            "over_7": of_words.excessive,
            "maximum": of_words.maximum,
        },
    }
    found["dictionary"] = dictionary_size(links, source.ids, source.offsets, target.ids, target.offsets)
    if reverse:
        found["symmetry"] = symmetry(links, read_alignments(reverse, None, bitext.lengths))
    if gold:
        truth = read_gold(gold, lengths=bitext.lengths)
        by = evaluate_by_frequency(links, truth, source.vocabulary.counts[source.ids], source.offsets, rare=rare)
        found |= {"rare": by.rare.to_dict(), "common": by.common.to_dict()}
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(
        f"{found['pairs']:,} pairs, {found['links']:,} links, {100 * found['one_to_one']:.1f} per cent one-to-one"
    )
    shown = ", ".join(f"{count:,} words take {k}" for k, count in enumerate(found["fertility"]["histogram"]) if count)
    click.echo(f"fertility {of_words.mean:.2f} on average: {shown}")
    if reverse:
        click.echo(f"symmetry {100 * found['symmetry']:.1f} per cent")
    click.echo(f"dictionary of {found['dictionary']:,} word pairs")
    if gold:
        click.echo(f"rare words:   {by.rare}")
        click.echo(f"common words: {by.common}")
