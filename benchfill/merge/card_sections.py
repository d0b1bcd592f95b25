"""The sections of the data card that hold figures: before and after, scores, the check by a full fit, reviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchfill.merge.markdown import code, figure, interval, table, text

__all__ = ["figures_section", "refit_section", "review_section", "scores_section"]

NAMES = {"ddm": "DDM", "max_gap": "Max Gap", "top5_sum": "top-5 gap sum"}
SHOWN = 20


def figures_section(card: Mapping[str, Any]) -> str:
    """DDM, Max Gap and top-5 sum on the frozen axis, and which gaps are real."""
    before, after = card["effects"]["before"], card["effects"]["after"]
    rows = []
    for name, label in NAMES.items():
        cells = [label]
        for side in (before, after):
            each = side["figures"][name]
            cells += [
                figure(each["point"]),
                f"{figure(each['median'])}, {interval(each['lo90'], each['hi90'])}",
            ]
        rows.append(cells)
    simulated = " (simulated)" if card["simulated"] else ""
    head = ("", "before, estimates", "before, true items", "after, estimates", "after, true items")
    parts = [
        f"## Coverage{simulated}",
        f"On the axis of the original benchmark, each from a fit of all answers ({text(card['effects']['engine'])}, "
        f"seed {card['effects']['seed']}): the figure of the estimates, and posterior median and 90% interval of that "
        "of the true difficulties.",
        table(head, rows),
    ]
    if card["effects"]["engine"] == "mml":
        parts.append(
            "mml is a preview: it takes abilities as known, so that intervals and p_empty claim too much."
        )
    if before["shape_dependent"] or after["shape_dependent"]:
        parts.append("The intervals depend on the assumed shape of difficulties.")
    for title, side in (("before", before), ("after", after)):
        gap_rows = [
            (
                f"{figure(gap['lo'])} to {figure(gap['hi'])}",
                figure(gap["width"]),
                figure(gap["p_empty"], 2),
                "resolved" if gap["resolved"] else "not resolvable with this design",
            )
            for gap in side["gaps"]
        ]
        parts += [
            f"Widest gaps {title}; p_empty is the posterior probability that no item truly lies in the middle half, a "
            "gap is resolved from 0.95 on.",
            table(("gap", "width", "p_empty", ""), gap_rows),
        ]
    filled = [
        (
            code(each["item"]),
            f"{figure(each['before']['lo'])} to {figure(each['before']['hi'])}",
            figure(each["before"]["p_empty"], 2),
            f"{figure(each['after']['lo'])} to {figure(each['after']['hi'])}",
            figure(each["after"]["p_empty"], 2),
        )
        for each in card["effects"]["filled"]
    ]
    if filled:
        parts += [
            "The gaps that items were added to, and the widest that is left of each:",
            table(("item", "gap before", "p_empty", "widest left", "p_empty"), filled),
        ]
    parts.append(_at_risk(before["ranks"], after["ranks"]))
    return "\n\n".join(part for part in parts if part)


def _at_risk(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    if before is None or after is None:
        return ""
    return (
        f"Pairs of models whose order would likely or possibly be another if difficulties were spread evenly: "
        f"{len(before['at_risk'])} of {before['pairs']} before, {len(after['at_risk'])} of {after['pairs']} after."
    )


def scores_section(card: Mapping[str, Any]) -> str:
    """Scores on original, added and both items, never the mixture alone."""
    scores = card["effects"]["scores"]
    rows = [
        (
            text(row["model"]),
            figure(row["original"]),
            figure(row["added"]) + _asked(row["asked_added"], scores["n_added"]),
            figure(row["both"]),
        )
        for row in scores["models"]
    ]
    head = (
        "model",
        f"original ({scores['n_original']})",
        f"added ({scores['n_added']})",
        f"both ({scores['n_original'] + scores['n_added']})",
    )
    parts = [
        f"## Scores{' (simulated)' if card['simulated'] else ''}",
        "Mean success over the items a model was asked.",
        table(head, rows),
    ]
    changes: Sequence[Mapping[str, Any]] = scores["order_changes"]
    if changes:
        shown = [
            f"{text(each['ahead_after'])} passes {text(each['ahead_before'])} "
            f"({figure(each['difference_original'])} behind before, {figure(-each['difference_both'])} ahead after)"
            for each in changes[:SHOWN]
        ]
        more = f"; and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
        parts.append(f"Order changes of {len(changes)} pairs: {'; '.join(shown)}{more}.")
    else:
        parts.append("No two models change their order.")
    parts.append(
        f"Kendall tau-b between the orders on original and on all items: {figure(scores['kendall_tau_b'])}."
    )
    if card["asked_again"]:
        parts.append(
            f"{len(card['asked_again'])} original items were asked again during the run; their new answers count here "
            "before and after."
        )
    return "\n\n".join(parts)


def _asked(asked: int, of: int) -> str:
    return "" if asked == of else f" (asked {asked})"


def refit_section(card: Mapping[str, Any]) -> str:
    """The online calibration beside a fit of everything."""
    refit = card["effects"]["refit"]
    items = [
        (
            code(each["item"]),
            figure(each["online_z"]),
            figure(each["full_z"]),
            figure(each["difference"]),
            figure(each["difference_in_sd"], 2),
        )
        for each in refit["items"]
    ]
    models = [
        (
            text(each["model"]),
            figure(each["frozen"], 2),
            figure(each["full"], 2),
            figure(each["drift"]),
            figure(each["drift_in_sd"], 2),
        )
        for each in refit["abilities"]
    ]
    return "\n\n".join(
        [
            f"## Check of the calibration{' (simulated)' if card['simulated'] else ''}",
            "Added items were placed online, on abilities frozen before the search. A fit of all answers together, "
            "original and added, knows nothing of that: z by both, and their difference in posterior sd of the online "
            "place.",
            table(("item", "online z", "full z", "difference", "in sd"), items),
            "Abilities, in logits:",
            table(("model", "frozen", "full fit", "drift", "in sd"), models),
        ]
    )


def review_section(card: Mapping[str, Any]) -> str:
    """Who reviewed, how far they agree, and what was decided of each item."""
    reviews = card["reviews"]
    if not reviews["reviewers"]:
        return "## Review\n\nNobody has reviewed these items."
    reviewers = [
        (
            text(each["reviewer"]),
            each["kind"],
            f"{each['decided']} of {each['assigned']}",
            f"{each['approve']}, {each['reject']}, {each['unsure']}",
            f"{each['false_alarms']} of {each['originals']}",
            figure(each["seconds_median"], 0),
        )
        for each in reviews["reviewers"]
    ]
    agreement = [
        (
            name,
            f"{each['items']:,}",
            _measured(each, "percent"),
            _measured(each, "kappa"),
            _measured(each, "alpha"),
        )
        for name, each in reviews["agreement"].items()
    ]
    items = [
        (code(item["id"]), item["review"]["outcome"], text(item["review"]["why"]), item["basis"])
        for item in card["items"]
    ]
    sealed = ", ".join(f"round {each['round']} `{each['sha256']}`" for each in reviews["sealed_keys"])
    return "\n\n".join(
        [
            "## Review",
            "Reviewers saw original and new items mixed, in an order of their own, and nothing that tells one from "
            "the other.",
            table(("item", "outcome", "why", "basis"), items),
            table(
                (
                    "reviewer",
                    "round",
                    "decided",
                    "approve, reject, unsure",
                    "originals rejected",
                    "median seconds",
                ),
                reviewers,
            ),
            "Agreement, with 90% intervals:",
            table(("items", "number", "same verdict", "Cohen's kappa", "Krippendorff's alpha"), agreement),
            f"Sealed keys: {sealed}.",
        ]
    )


def _measured(each: Mapping[str, Any], name: str) -> str:
    value, lo, hi = each[name], each[f"{name}_lo90"], each[f"{name}_hi90"]
    return figure(value) if lo is None else f"{figure(value)}, {interval(lo, hi)}"
