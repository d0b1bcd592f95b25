"""Who is given what: the original items that are mixed in, each reviewer's own order and blind ids."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Collection, Mapping, Sequence

from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.reviews import AssignmentRow
from benchfill.review.blinding import draw_blind_id, item_hash

__all__ = ["assign", "choose_originals", "choose_references", "secret_of"]

# An original to stand beside a new item is one of the nearest this many on the axis.
NEAREST = 5


def secret_of(pool: Pool, seed: int) -> str:
    """What blind ids and orders are drawn from: the seed with texts that no reviewer sees.

    A seed alone could be tried out by a reviewer who has the original items; rationales of the rewriter and words of
    the judge are in the run only. The same run has the same secret, so it exports the same packets.
    """
    hidden = [
        [each.id, each.rationale, pool_item.solution if pool_item else ""]
        for each in pool.candidates()
        if each.status == "accepted"
        for pool_item in [pool.item(str(each.item))]
    ]
    words = [[name, row.reason] for name, row in pool.judgements().items()]
    text = json.dumps([seed, hidden, words], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def choose_originals(
    fresh: Sequence[Item],
    originals: Sequence[Item],
    z: Mapping[str, float],
    *,
    ratio: float,
    avoid: Collection[str],
    draw: random.Random,
) -> list[Item]:
    """Original items to mix in: each like a new one in type of answer, options and place on the axis.

    Otherwise the only items with options, or the only hard ones, would be the new ones.

    Parameters
    ----------
    z
        Place of every item on the scale, by id.
    ratio
        Originals for each new item; as many as there are at most.
    avoid
        Ids that are taken only when no others are left: parents of the new items.
    """
    wanted = round(ratio * len(fresh))
    left = {item.id: item for item in sorted(originals, key=lambda item: item.id)}
    chosen: list[Item] = []
    while left and len(chosen) < wanted:
        like = fresh[len(chosen) % len(fresh)]
        free = [item for item in left.values() if item.id not in avoid] or list(left.values())
        same = [item for item in free if _shape(item) == _shape(like)] or free
        place = z.get(like.id, 0.5)
        same.sort(key=lambda item: (abs(z.get(item.id, 0.5) - place), item.id))
        chosen.append(left.pop(draw.choice(same[:NEAREST]).id))
    return chosen


def choose_references(
    parents: Collection[str], mixed: Sequence[Item], originals: Sequence[Item], draw: random.Random
) -> list[Item]:
    """Items of the benchmark to compare with: parents of the new items, and for each original in the packet the one
    most like it, so that having a likeness here tells nothing."""
    from rapidfuzz import fuzz, process

    free = {item.id: item for item in originals if item.id not in {each.id for each in mixed}}
    found = {name for name in parents if name in free}
    texts = {name: item.question for name, item in free.items() if name not in found}
    for item in mixed:
        best = process.extractOne(item.question, texts, scorer=fuzz.ratio)
        if best is not None:
            found.add(str(best[2]))
            texts.pop(str(best[2]))
    references = [free[name] for name in sorted(found)]
    draw.shuffle(references)
    return references


def assign(
    fresh: Sequence[Item],
    mixed: Sequence[Item],
    *,
    reviewers: Sequence[str],
    round_: int,
    secret: str,
    taken: set[str],
) -> list[AssignmentRow]:
    """Every item to every reviewer, each in an order and under ids of their own.

    Parameters
    ----------
    taken
        Blind ids of earlier rounds; new ones are added.
    """
    rows = []
    for reviewer in reviewers:
        draw = random.Random(f"{secret} {round_} {reviewer}")  # noqa: S311 - repeatable, its seed is the secret
        items = [(item, "candidate") for item in fresh] + [(item, "original") for item in mixed]
        items.sort(key=lambda pair: pair[0].id)
        draw.shuffle(items)
        rows += [
            AssignmentRow(
                reviewer=reviewer,
                blind_id=draw_blind_id(draw, taken),
                round=round_,
                place=place,
                item=item.id,
                origin="original" if origin == "original" else "candidate",
                item_hash=item_hash(item),
            )
            for place, (item, origin) in enumerate(items)
        ]
    return rows


def _shape(item: Item) -> tuple[str, bool]:
    return item.answer_type, bool(item.choices)
