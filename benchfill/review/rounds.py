"""Rounds of review: what is handed out next, to whom, and the export of it."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchfill.atomic import write_whole
from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.memory.pool import Pool
from benchfill.memory.reviews import AssignmentRow, ReviewRound, Reviews, RoundKind
from benchfill.review.blinding import item_hash, leaks
from benchfill.review.draw import assign, choose_originals, choose_references, secret_of
from benchfill.review.folders import staged_folders
from benchfill.review.forms import files_hash, form_rows, packet_files
from benchfill.review.outcome import review_outcomes

__all__ = ["Exported", "export_packets", "key_path"]


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote.

    Parameters
    ----------
    packets
        Folder of each reviewer.
    key
        File of the sealed key; its hash is ``round_.key_sha256``.
    new, originals
        Items in each packet.
    telling
        New items whose text says of itself that it is a rewrite, by id.
    """

    round_: ReviewRound
    packets: Mapping[str, Path]
    key: Path
    new: int
    originals: int
    telling: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    kind: RoundKind
    number: int
    seed: int
    originals: float
    assignments: Sequence[AssignmentRow]


def export_packets(
    pool: Pool,
    run_folder: Path,
    out: Path,
    *,
    reviewers: Sequence[str],
    originals: float,
    seed: int,
    adjudicate: bool = False,
    again: bool = False,
) -> Exported:
    """Write one packet a reviewer, and the sealed key into the run's own folder.

    Handed out are accepted items whose present text nobody was given yet; where there are none, the latest round is
    written once more, byte for byte. The items of an adjudication are the disputed ones.

    Parameters
    ----------
    reviewers
        Names: of the folders, and what decisions are counted by.
    originals
        Original items for each new one.
    seed
        Of the choice, the orders and the blind ids.
    again
        Hand every accepted item out once more, as a round of its own.

    Raises
    ------
    InputError
        ``nothing_to_review``, ``nothing_disputed``, ``already_exported``, ``changed_since``, ``reviewer_twice``,
        ``out_exists``, ``unwritable``.
    """
    reviews = Reviews(pool)
    kind: RoundKind = "adjudication" if adjudicate else "review"
    plan = _plan(pool, reviews, kind, reviewers, originals, seed, again)
    items = {item.id: item for item in pool.items()}
    fresh = {row.item for row in plan.assignments if row.origin == "candidate"}
    mixed = {row.item for row in plan.assignments if row.origin == "original"}
    draw = random.Random("references " + " ".join(sorted(row.blind_id for row in plan.assignments)))  # noqa: S311
    references = choose_references(
        _parents(pool, fresh), [items[name] for name in sorted(mixed)], pool.items("original"), draw
    )
    names = sorted({row.reviewer for row in plan.assignments})
    forms = {
        name: form_rows([row for row in plan.assignments if row.reviewer == name], items) for name in names
    }
    folders = {name: packet_files(form, references) for name, form in forms.items()}
    key = _sealed_key(plan, {name: files_hash(content) for name, content in folders.items()})
    round_ = ReviewRound(plan.number, kind, plan.seed, plan.originals, hashlib.sha256(key).hexdigest())
    committed = next((each.key_sha256 for each in reviews.rounds() if each.round == plan.number), None)
    if committed not in (None, round_.key_sha256):
        raise InputError(
            f"Round {plan.number} cannot be written once more: its items or this version of BenchFill have changed.",
            "Use the packets that were handed out, or --again with other reviewers.",
            kind="changed_since",
        )
    path = key_path(run_folder, plan.number)
    with staged_folders(out, folders):
        path.parent.mkdir(exist_ok=True)
        write_whole(path, key)
        reviews.save_round(round_, plan.assignments)
    told = {row["item_hash"] for form in forms.values() for row in form if leaks(row)}
    return Exported(
        round_=round_,
        packets={name: out / name for name in names},
        key=path,
        new=len(fresh),
        originals=len(mixed),
        telling=tuple(name for name in sorted(fresh) if item_hash(items[name]) in told),
    )


def key_path(run_folder: Path, round_: int) -> Path:
    """Where the sealed key of a round lies: with the run, never with the packets."""
    return run_folder / "reviews" / f"round-{round_}.key.json"


def _plan(
    pool: Pool,
    reviews: Reviews,
    kind: RoundKind,
    reviewers: Sequence[str],
    originals: float,
    seed: int,
    again: bool,
) -> _Plan:
    rounds, handed = reviews.rounds(), reviews.assignments()
    fresh = _fresh(pool, kind, rounds, handed, again)
    latest = next((each for each in reversed(rounds) if each.kind == kind), None)
    if not fresh and latest is not None:
        rows = [row for row in handed if row.round == latest.round]
        same = sorted({row.reviewer for row in rows}) == sorted(reviewers)
        if not same or (latest.originals, latest.seed) != (originals, seed):
            given = ", ".join(sorted({row.reviewer for row in rows}))
            raise InputError(
                f"Everything is handed out already: round {latest.round} to {given}, "
                f"{latest.originals:g} original items for each new one, seed {latest.seed}.",
                "--again hands it out once more as a round of its own.",
                kind="already_exported",
            )
        return _Plan(kind, latest.round, latest.seed, latest.originals, rows)
    if not fresh:
        raise _nothing(kind)
    fresh_ids = {item.id for item in fresh}
    known = {(row.reviewer, row.item, row.item_hash) for row in handed}
    for item in fresh:
        twice = [name for name in reviewers if (name, item.id, item_hash(item)) in known]
        if twice:
            raise InputError(
                f"{twice[0]} was given some of these items before.",
                "Name other reviewers with --reviewer.",
                kind="reviewer_twice",
            )
    number = max((each.round for each in rounds), default=0) + 1
    secret = secret_of(pool, seed)
    seen = {row.item for row in handed if row.origin == "original"}
    mixed = choose_originals(
        fresh,
        pool.items("original"),
        {name: row.z for name, row in pool.estimates().items()},
        ratio=originals,
        avoid=_parents(pool, fresh_ids) | seen,
        draw=random.Random(f"{secret} {number} originals"),  # noqa: S311 - repeatable, its seed is the secret
    )
    rows = assign(
        fresh,
        mixed,
        reviewers=reviewers,
        round_=number,
        secret=secret,
        taken={row.blind_id for row in handed},
    )
    return _Plan(kind, number, seed, originals, rows)


def _fresh(
    pool: Pool, kind: RoundKind, rounds: Sequence[ReviewRound], handed: Sequence[AssignmentRow], again: bool
) -> list[Item]:
    """What is to be handed out and is not yet."""
    outcomes = review_outcomes(pool)
    kinds = {each.round: each.kind for each in rounds}
    given = {(row.item, row.item_hash) for row in handed if kinds[row.round] == "review"}
    if kind == "review":
        names = [name for name, each in outcomes.items() if again or (name, each.item_hash) not in given]
    else:
        names = [name for name, each in outcomes.items() if each.outcome == "disputed" and not each.waiting]
    return [item for name in names if (item := pool.item(name)) is not None]


def _nothing(kind: RoundKind) -> InputError:
    if kind == "adjudication":
        return InputError(
            "No item is disputed.", "`benchfill review status` shows each.", kind="nothing_disputed"
        )
    return InputError(
        "The run has no accepted item to review.",
        "`benchfill status` shows its gaps.",
        kind="nothing_to_review",
    )


def _parents(pool: Pool, items: set[str]) -> set[str]:
    return {each.parent for each in pool.candidates() if each.item in items}


def _sealed_key(plan: _Plan, packets: Mapping[str, str]) -> bytes:
    """The key of a round: what each blind id was, and the hash of each packet as it was handed out."""
    document = {
        "v": 1,
        "round": plan.number,
        "kind": plan.kind,
        "seed": plan.seed,
        "originals": plan.originals,
        "packets": [
            {
                "reviewer": reviewer,
                "sha256": packets[reviewer],
                "items": [
                    {
                        "blind_id": row.blind_id,
                        "item": row.item,
                        "origin": row.origin,
                        "item_hash": row.item_hash,
                    }
                    for row in sorted(plan.assignments, key=lambda row: row.place)
                    if row.reviewer == reviewer
                ],
            }
            for reviewer in sorted(packets)
        ],
    }
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode()
