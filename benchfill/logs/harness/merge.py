"""Which items of several logs are the same: by id, and by the text where ids differ or mean different items.

Two ids with one text are one item, unless a model of one log answered both. One id with two texts, where these
are fields of the data set and not prompts, is two items. All such cases are listed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchfill.errors import InputError
from benchfill.item import Item
from benchfill.logs.choices import KeyFault
from benchfill.logs.harness.item_texts import text_fingerprint, to_item
from benchfill.logs.harness.record import ItemText, LogRecord
from benchfill.logs.text import listing

__all__ = ["MergeMode", "Merged", "merge_items"]

MergeMode = Literal["auto", "id"]
# Task and id in it.
_Key = tuple[str, str]
_Node = tuple[str, str, str]


@dataclass
class Merged:
    """Items of all logs.

    Parameters
    ----------
    names
        Id of the item of each record.
    items
        Sorted by id; those whose logs show question and key.
    unusable
        Id to the reason why there is no item in ``items``.
    by_text
        Groups of ids that are one item by their text.
    split
        Ids that mean different items in different logs.
    same_text
        Groups of ids with one text that were kept apart: a model answered several of them.
    different_prompts
        Ids under which models were shown different texts.
    conflicting_keys
        Id to the different keys of its logs; the most frequent one is in ``items``.
    """

    names: list[str]
    items: tuple[Item, ...] = ()
    unusable: dict[str, str] = field(default_factory=dict)
    by_text: list[list[str]] = field(default_factory=list)
    split: list[str] = field(default_factory=list)
    same_text: list[list[str]] = field(default_factory=list)
    different_prompts: list[str] = field(default_factory=list)
    conflicting_keys: dict[str, list[str]] = field(default_factory=dict)


def merge_items(
    records: Sequence[LogRecord], files: Sequence[int], given: Mapping[str, Item], mode: MergeMode
) -> Merged:
    """Find the items that records are about.

    Parameters
    ----------
    records, files
        Records, and the number of the file of each.
    given
        Items of item files by id; they go before what logs show.
    mode
        ``auto`` as above; ``id`` trusts ids, and only lists what differs.

    Raises
    ------
    InputError
        ``id_conflict``: an id means different items in some logs, and others do not show which is meant.
    """
    prints: dict[int, str] = {}
    nodes: list[_Node] = []
    texts: dict[_Key, dict[str, ItemText]] = {}
    for record in records:
        mark = prints.get(id(record.text))
        if mark is None:
            mark = prints[id(record.text)] = text_fingerprint(record.text)
        nodes.append((record.task, record.item, mark))
        if mark and record.text is not None:
            texts.setdefault((record.task, record.item), {}).setdefault(mark, record.text)
    merged = Merged([])
    tasks = {record.task for record in records} - {""}
    if len(tasks) == 1:
        # Tables do not name their task: they are about the only one there is.
        (task,) = tasks
        nodes = [(task, item, mark) for _, item, mark in nodes]
        joined: dict[_Key, dict[str, ItemText]] = {}
        for (_, item), found in texts.items():
            joined.setdefault((task, item), {}).update(found)
        texts = joined
    splits = _split_ids(texts, mode, merged)
    if splits:
        _refuse_silent(nodes, splits)
    canonical = [_own_node(node, splits, texts) for node in nodes]
    groups = _same_texts(canonical, records, files, mode, merged)
    merged.names = _names(canonical, groups, splits)
    for pairs in (merged.by_text, merged.same_text):
        pairs.sort()
    _build_items(merged, records, given)
    return merged


def _split_ids(texts: Mapping[_Key, Mapping[str, ItemText]], mode: MergeMode, merged: Merged) -> set[_Key]:
    splits = set()
    for key, variants in sorted(texts.items()):
        if len(variants) < 2:
            continue
        if mode == "id" or any(text.from_prompt for text in variants.values()):
            merged.different_prompts.append(_label(key))
        else:
            splits.add(key)
            merged.split.append(_label(key))
    return splits


def _refuse_silent(nodes: Sequence[_Node], splits: set[_Key]) -> None:
    silent = sorted(
        {_label((task, item)) for task, item, mark in nodes if (task, item) in splits and not mark}
    )
    if silent:
        raise InputError(
            f"{len(silent)} ids mean different items in different logs, and some logs do not show the question:"
            f" {listing(silent)}.",
            "Import these logs apart, or --merge id if the ids can be trusted.",
            kind="id_conflict",
        )


def _own_node(node: _Node, splits: set[_Key], texts: Mapping[_Key, Mapping[str, ItemText]]) -> _Node:
    """The node with its text, also where this log does not show it; one text for ids with several prompts."""
    task, item, mark = node
    variants = texts.get((task, item), {})
    if (task, item) in splits or not variants:
        return node
    return task, item, mark if len(variants) == 1 and mark else min(variants)


def _same_texts(
    nodes: Sequence[_Node],
    records: Sequence[LogRecord],
    files: Sequence[int],
    mode: MergeMode,
    merged: Merged,
) -> dict[_Node, _Node]:
    """Each node to the one that stands for all with its text."""
    if mode == "id":
        return {}
    by_mark: dict[str, set[_Node]] = defaultdict(set)
    answered: dict[tuple[str, str, int], set[_Node]] = defaultdict(set)
    for node, record, file in zip(nodes, records, files, strict=True):
        if node[2]:
            by_mark[node[2]].add(node)
            answered[node[2], record.model, file].add(node)
    apart = {mark for (mark, _, _), found in answered.items() if len(found) > 1}
    groups: dict[_Node, _Node] = {}
    for mark, found in by_mark.items():
        if len(found) < 2:
            continue
        labels = sorted(_label(node[:2]) for node in found)
        if mark in apart:
            merged.same_text.append(labels)
        else:
            merged.by_text.append(labels)
            groups.update(dict.fromkeys(found, min(found)))
    return groups


def _names(nodes: Sequence[_Node], groups: Mapping[_Node, _Node], splits: set[_Key]) -> list[str]:
    """Ids: as in the log; with the task in front when there are several, with the text's mark where an id was split."""
    chosen = [groups.get(node, node) for node in nodes]
    several = len({node[0] for node in chosen}) > 1
    return [
        (f"{task}/{item}" if several and task else item) + (f"#{mark[:8]}" if (task, item) in splits else "")
        for task, item, mark in chosen
    ]


def _build_items(merged: Merged, records: Sequence[LogRecord], given: Mapping[str, Item]) -> None:
    shown: dict[str, Counter[str]] = defaultdict(Counter)
    # Every row of a log brings its own copy of the item.
    texts: dict[str, ItemText] = {}
    tasks: dict[str, set[str]] = defaultdict(set)
    for name, record in zip(merged.names, records, strict=True):
        tasks[name].add(record.task)
        if record.text is not None:
            mark = repr(record.text)
            shown[name][mark] += 1
            texts.setdefault(mark, record.text)
    items = dict(given)
    for name in sorted(set(merged.names) - set(given)):
        if not shown[name]:
            merged.unusable[name] = "no text in the logs"
            continue
        candidates: dict[str, tuple[int, Item]] = {}
        reason = ""
        extra: dict[str, Any] = {"task": task} if (task := min(tasks[name])) else {}
        for mark, times in shown[name].items():
            try:
                item = to_item(name, texts[mark], extra)
            except KeyFault as error:
                reason = reason or str(error)
                continue
            signature = repr((item.question, item.answer, item.choices, item.solution))
            candidates[signature] = candidates.get(signature, (0, item))[0] + times, item
        if not candidates:
            merged.unusable[name] = reason
            continue
        _, best = max(candidates.items(), key=lambda each: (each[1][0], each[0]))
        items[name] = best[1]
        keys = sorted({_key_text(item) for _, item in candidates.values()})
        if len(keys) > 1:
            merged.conflicting_keys[name] = keys
    merged.items = tuple(items[name] for name in sorted(items))


def _key_text(item: Item) -> str:
    """The key without regard to the order of options."""
    if item.choices:
        letters = item.answer.split(",")
        return " | ".join(sorted(item.choices[ord(letter) - ord("A")] for letter in letters))
    return item.answer.strip()


def _label(key: tuple[str, ...]) -> str:
    return f"{key[0]}/{key[1]}" if key[0] else key[1]
