"""The data card for a reader: Markdown with the front matter that dataset hubs read, made from the JSON document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchfill.merge.card_sections import figures_section, refit_section, review_section, scores_section
from benchfill.merge.markdown import code, figure, interval, table, text

__all__ = ["card_markdown"]

# Upper ends of the sizes that dataset hubs know.
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
# Licences as hubs spell them: anything else is "other" with its name beside it.
KNOWN_LICENCE = re.compile(
    r"(?:apache-2\.0|mit|bsd-[23]-clause|cc0-1\.0|cc-by(?:-sa|-nc|-nd|-nc-sa|-nc-nd)?-\d\.0|odc-by|odbl|gpl-3\.0)"
)


def card_markdown(card: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """The whole README.

    Parameters
    ----------
    card
        The document of `benchfill.merge.document.card_document`.
    files
        Names of the files beside it: ``items``, ``responses``, ``lineage``, ``card``.
    """
    simulated = " (simulated)" if card["simulated"] else ""
    parts = [
        _front_matter(card, files),
        f"# {text(card['name'])}, extended{simulated}",
        _summary(card),
        _added(card),
        figures_section(card),
        scores_section(card),
        refit_section(card),
        review_section(card),
        _origin(card),
        _files(card, files),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _front_matter(card: Mapping[str, Any], files: Mapping[str, str]) -> str:
    size = card["effects"]["after"]["n_items"]
    lines = [
        f"pretty_name: {_yaml(card['name'] + ', extended')}",
        f"size_categories: [{next((name for limit, name in SIZES if size < limit), 'n>1M')}]",
        "tags: [benchmark, item-response-theory, benchfill]",
    ]
    licence = card["licence"]["stated"]
    if licence is not None:
        plain = licence.strip().lower()
        known = KNOWN_LICENCE.fullmatch(plain) is not None
        lines.insert(0, f"license: {plain}" if known else f"license: other\nlicense_name: {_yaml(licence)}")
    if not files["items"].endswith(".gz"):
        lines.append(
            f"configs:\n- config_name: default\n  data_files:\n  - split: test\n    path: {_yaml(files['items'])}"
        )
    return "---\n" + "\n".join(lines) + "\n---"


def _yaml(value: str) -> str:
    # A JSON string is a YAML string.
    return json.dumps(value, ensure_ascii=False)


def _summary(card: Mapping[str, Any]) -> str:
    added, source = len(card["items"]), card["source"]
    lines = [
        f"{source['n_items']:,} items of {text(source['name'])}, unchanged, and {added} added by BenchFill to fill "
        f"gaps of its difficulty axis. z is difficulty on the axis of the original benchmark: 0 its easiest item, 1 "
        f"its hardest (smallest and largest estimated difficulty, {figure(card['scale']['lo_logits'], 2)} and "
        f"{figure(card['scale']['hi_logits'], 2)} logits)."
    ]
    if card["simulated"]:
        lines.append("Every model here is simulated, and so is every figure.")
    lines.append(
        "A score on the extended benchmark is not comparable with one on the original: where both are given, they are "
        "given apart."
    )
    if card["unreviewed_merged"]:
        names = [item["id"] for item in card["items"] if item["basis"] == "unreviewed"]
        lines.insert(
            0,
            f"**Not reviewed by people: {len(names)} of {added} added items ({_listed(names)}). They were merged at "
            "the maintainer's wish; only a model has judged them.**",
        )
    earlier = [row["id"] for row in card["earlier_generations"] if row["basis"] == "unreviewed"]
    if earlier:
        lines.insert(0, f"**Merged earlier without a review by people: {_listed(earlier)}.**")
    decided = [item["id"] for item in card["items"] if item["basis"] == "maintainer"]
    if decided:
        lines.append(f"Accepted by the maintainer against the reviewers: {_listed(decided)}.")
    return "\n\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(code, names))


def _added(card: Mapping[str, Any]) -> str:
    rows = []
    for item in card["items"]:
        origin = item["by_hand"] or text(item["rewriter"])
        rows.append(
            (
                code(item["id"]),
                _listed(item["parents"][:1]) or "-",
                origin,
                figure(item["target"]),
                figure(item["z"]),
                interval(item["z_lo90"], item["z_hi90"]),
                figure(item["expected_deviation"], 4),
                f"{item['attempts_in_log']:,} of {item['attempts_in_all']:,}",
                ("confirmed" if item["confirmed"] else "unconfirmed")
                + (", misfits" if (item["fit"] or {}).get("misfits") else ""),
                item["basis"],
            )
        )
    head = (
        "id", "parent", "written by", "target", "z", "90% interval", "expected deviation", "attempts", "", "basis",
    )  # fmt: skip
    note = (
        "Attempts: those in the response log, of all that were made. Of a confirmed item these are the fresh ones "
        "alone, which no choice was made by; its z and interval come from them."
    )
    judged = sorted({item["judge"] for item in card["items"]})
    prompts = sorted({item["prompt_version"] for item in card["items"] if item["prompt_version"]})
    who = (
        f"Rewriter: {_listed(card['models']['rewriter']) or '-'}. Judge: {_listed(judged)}. Answered by "
        f"{_listed(each['name'] for each in card['models']['pool'])}. "
        f"Prompts: version {', '.join(map(text, prompts)) or '-'} (hashes in the JSON card)."
    )
    parts = ["## What was added", table(head, rows), note, who]
    if card["left_out"]:
        parts.append(
            "Left out: "
            + "; ".join(f"{code(item)} ({text(why)})" for item, why in card["left_out"].items())
            + "."
        )
    if card["columns_left_empty"]:
        parts.append(f"Columns that are empty in the added rows: {_listed(card['columns_left_empty'])}.")
    return "\n\n".join(parts)


def _origin(card: Mapping[str, Any]) -> str:
    licence, run = card["licence"], card["run"]
    if licence["stated"] is not None:
        said = (
            f"Licence: {text(licence['stated'])}, carried over from the items the added ones were made from."
        )
    elif licence["of_parents"]:
        differing = ", ".join(map(text, licence["of_parents"]))
        said = f"Licences of the parents differ: {differing}. Each row states its own."
    else:
        said = "The item file states no licence; that of the original benchmark holds for what was made from its items."
    lines = [
        "## Origin",
        said,
        f"Run {code(run['name'])}, seed {run['seed']}, BenchFill {text(run['version'])}"
        + (f", {text(run['world'])} world {text(run['world_version'] or '')}" if run["world"] else "")
        + f". Benchmark `{run['benchmark_fingerprint'][:16]}`, item file `sha256:{card['source']['sha256']}`. "
        f"Ledger: {card['ledger']['replies']:,} replies, `{card['ledger']['digest']}`.",
        f"Versions: {_versions(run['versions'])}.",
    ]
    earlier: Sequence[Mapping[str, Any]] = card["earlier_generations"]
    if earlier:
        lines.append(
            f"This is generation {card['generation']}: {len(earlier)} items were added by earlier merges "
            f"({_listed(row['id'] for row in earlier[:10])}{', ...' if len(earlier) > 10 else ''})."
        )
    return "\n\n".join(lines)


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{text(name)} {text(value)}" for name, value in sorted(versions.items()))


def _files(card: Mapping[str, Any], files: Mapping[str, str]) -> str:
    about = {
        files["items"]: "the items, in the format of the original file",
        files["responses"]: "the response log: model, item, right answers, attempts",
        files["lineage"]: "where every added item came from, over all merges",
        files["card"]: "this card as JSON, with everything",
    }
    rows = [(code(name), what) for name, what in about.items()]
    go_on = (
        f"`benchfill diagnose {files['responses']} --items {files['items']}` measures the extended benchmark; "
        f"`benchfill run --items {files['items']} --responses {files['responses']}` goes on from it."
    )
    return "\n\n".join(["## Files", table(("file", "what"), rows), go_on])
