"""Diagnoses as one HTML page: figures, plots, gaps, checks, limits. Complete in itself: styles and plots are inline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from benchfill.display.diagnosis_checks import check_lines
from benchfill.display.diagnosis_pool import POOL_HEADERS, pool_rows, residual_lines, resolved_of
from benchfill.display.text import interval, number
from benchfill.report import plots
from benchfill.report.ranks import VERDICTS, rank_matrix
from benchfill.report.svg import safe

__all__ = ["render_page"]

Document = Mapping[str, Any]
_OFFENDERS = 12
_PAIRS = 10
_FIGURES = (("ddm", "DDM"), ("max_gap", "Max Gap"), ("top5_sum", "Top-5 gap sum"))
_MARKS = {"pass": "good", "FAIL": "poor", "see": "watch"}


def render_page(documents: Sequence[Document]) -> str:
    """The page of one or several diagnoses.

    Parameters
    ----------
    documents
        As `benchfill.calibration.report_document` makes them, each with a ``name``.
    """
    names = ", ".join(str(each["name"]) for each in documents)
    style = files("benchfill.report").joinpath("style.css").read_text(encoding="utf-8")
    body = [_comparison(documents)] if len(documents) > 1 else []
    body += [_benchmark(document, f"b{at}") for at, document in enumerate(documents)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Diagnosis of {safe(names)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _comparison(documents: Sequence[Document]) -> str:
    rows = []
    for at, document in enumerate(documents):
        gate = ("good", "passed") if document["gate"]["passed"] else ("poor", "failed")
        rows.append(
            [
                f'<a href="#b{at}">{safe(document["name"])}</a>',
                f"{document['n_items']:,}",
                f"{document['n_models']:,}",
                *(
                    f"{number(document[key])}<br><small>{_ninety(document, key)}</small>"
                    for key, _ in _FIGURES
                ),
                resolved_of(document["resolution"]),
                f'<span class="{gate[0]}">{gate[1]}</span>',
            ]
        )
    headers = ("benchmark", "n", "models", *(title for _, title in _FIGURES), "gaps resolved", "gate")
    return (
        f"<h1>{len(documents)} benchmarks</h1><p>Figures of the point estimates in z; below them 90 % intervals of the "
        f"figure of the true item set.</p>{_table(headers, rows)}"
    )


def _benchmark(document: Document, mark: str) -> str:
    gate = document["gate"]
    parts = [
        f'<section class="benchmark" id="{mark}">',
        f"<h1>{safe(document['name'])}</h1>",
        f"<p>{document['n_items']:,} items, {document['n_models']:,} models, {document['n_attempts']:,} attempts; "
        f"engine {safe(document['engine'])}, seed {document['seed']}</p>",
        f'<p>Gate <span class="{"good" if gate["passed"] else "poor"}">{"passed" if gate["passed"] else "failed"}'
        f"</span> {safe(_gate_figures(gate))} {safe(' '.join(gate['reasons']))}</p>",
    ]
    if document["scale"] is not None:
        parts += [_cards(document), *_plots(document, mark)]
    parts.append('<h2>Checks</h2><ul class="checks">')
    for sign, line in check_lines(document, shown=_OFFENDERS):
        parts.append(
            f'<li><span class="{_MARKS.get(str(sign), "")}">{safe(sign)}</span><span>{safe(line)}</span></li>'
        )
    parts.append("</ul>")
    if document["pool_dependence"] is not None:
        parts.append(_pool(document))
    if document["notes"]:
        parts.append(f"<h2>Notes</h2>{_list(document['notes'])}")
    parts.append(f"<h2>What these figures do not say</h2>{_list(document['limits'])}")
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    parts.append(
        f'<p class="foot">Data {safe(document["fingerprint"])}. Engine {safe(document["engine"])}, seed '
        f"{document['seed']}. {safe(versions)}.</p></section>"
    )
    return "\n".join(parts)


def _gate_figures(gate: Mapping[str, Any]) -> str:
    names = (("rhat_max", "R-hat", 4), ("ess_min", "effective sample size", 0), ("pareto_k", "Pareto k", 2))
    found = [f"{title} {gate[key]:,.{digits}f}" for key, title, digits in names if gate[key] is not None]
    if gate["divergences"] is not None:
        found.append(f"divergences {gate['divergences']}")
    return ", ".join(found)


def _cards(document: Document) -> str:
    cards = []
    for key, title in _FIGURES:
        ranges = _ninety(document, key)
        true = f"true items {number(document[f'{key}_median'])} {ranges}" if ranges else "no interval"
        without = f"without censored items {number(document['uncensored'][key])}"
        cards.append(
            f'<div class="card"><span>{title} (z)</span><b>{number(document[key])}</b><span>{true}</span>'
            f"<span>{without}</span><span>pool anchors {number(document['pool_anchors'][key])}</span></div>"
        )
    return f'<div class="cards">{"".join(cards)}</div>'


def _plots(document: Document, mark: str) -> Iterable[str]:
    yield "<h2>Where the items lie</h2>"
    yield _figure(
        plots.places(document, f"{mark}-places"),
        "Each item at its difficulty with its 90 % interval, easiest at the bottom; the widest gaps shaded.",
        [
            ("item", "item"),
            ("censored", "censored: the prior places it"),
            ("gap-yes", "gap, resolved"),
            ("gap-no", "gap, not resolvable with this design"),
            *([("gap-none", "gap, resolution not known")] if document["engine"] == "mml" else []),
        ],
    )
    yield _gaps(document)
    yield "<h2>How evenly</h2>"
    yield _figure(
        plots.distribution(document, f"{mark}-distribution"),
        f"DDM is the area between the two: {number(document['ddm'])}.",
        [("curve", "items"), ("target", f"target: {document['target']}"), ("between", "difference")],
    )
    yield "<h2>What the pool can see</h2>"
    yield _figure(
        plots.information(document, f"{mark}-information"),
        "Information of one attempt about an item's difficulty, as a share of the most that an answer can tell "
        "(mean over the models). Where it is low, no number of items shows what lies there.",
        [
            ("curve", "information"),
            ("rug", "items"),
            ("mark", "middle of a gap"),
            ("blind", "the pool is blind"),
        ],
    )
    yield "<h2>Models</h2>"
    yield _figure(
        plots.abilities(document, f"{mark}-abilities"),
        "Ability with 90 % interval, in logits.",
        [("item", "ability"), ("interval", "90 % interval")],
    )
    if document["item_fit"] is not None:
        yield "<h2>Item fit</h2>"
        yield _figure(
            plots.item_fit(document, f"{mark}-fit"),
            "How far the cells of an item stray from the 1PL, in logits. Flagged items stray more than 1 logit above "
            "the median and more than chance explains.",
            [("item", "item"), ("flagged", "flagged"), ("mark", "median")],
        )
    if document["rank_stability"] is not None:
        yield "<h2>Would the order of models change under the target?</h2>"
        yield _figure(
            rank_matrix(document, f"{mark}-ranks"),
            "One cell a pair of models, the higher score in the row. The order of a guaranteed pair holds for every "
            "difference curve as steep as the fitted ones.",
            [(f"pair {key}", title) for key, title in VERDICTS.items()],
        )
        yield _pairs(document["rank_stability"])


def _gaps(document: Document) -> str:
    rows = []
    for place, gap in enumerate((each for each in document["gaps"] if each["p_empty"] is not None), 1):
        verdict = {True: "resolved", False: str(gap["verdict"]), None: "not known in a preview"}[
            gap["resolved"]
        ]
        style = {True: "good", False: "watch", None: ""}[gap["resolved"]]
        figures = (number(gap[key]) for key in ("lo", "hi", "width", "target", "p_empty"))
        rows.append(
            [
                str(place),
                *figures,
                number(gap["p_chance"], 2),
                f'<span class="{style}">{safe(verdict)}</span>',
            ]
        )
    headers = ("gap", "from", "to", "width", "target", "p empty", "p chance", "verdict")
    resolution = document["resolution"]
    said = "" if resolution is None else f"<p>{safe(resolution['sentence'])}</p>"
    return (
        f'{_table(headers, rows, left=7)}{said}<p class="foot">p empty: chance that no item truly lies in the middle '
        "half of the gap; resolved from 0.95 on. p chance: share of gap-free benchmarks of this design with as wide a "
        "gap.</p>"
    )


def _pool(document: Document) -> str:
    rows = [[safe(cell) for cell in row] for row in pool_rows(document)]
    lines = "".join(f"<li>{safe(line)}</li>" for line in residual_lines(document, shown=_OFFENDERS))
    return (
        f"<h2>Another pool</h2><p>{document['pool_dependence']['subsets']} halves of the models, refitted; 90 % "
        f"intervals in z beside those of the posterior.</p>{_table(POOL_HEADERS, rows, left=5)}"
        '<p class="foot">halves: laid on the frozen axis by common items, which holds their mean and spread. own axis: '
        "what each half would have published; this is compared for the figures. Gaps: share of halves that leave the "
        f"middle half empty.</p><ul>{lines}</ul>"
    )


def _pairs(found: Mapping[str, Any]) -> str:
    risky = [each for each in found["pairs"] if each["verdict"] in ("likely_reversed", "possibly_reversed")]
    if not risky:
        return '<p class="foot">No pair is likely or possibly reversed.</p>'
    rows = [
        [
            f"{safe(each['stronger'])} over<br>{safe(each['weaker'])}",
            number(each["d_benchmark"]),
            f"{number(each['d_target'])}<br><small>{interval(each['d_target_lo95'], each['d_target_hi95'])}</small>",
            number(each["p_reversed"], 2),
            number(each["largest_slope"], 2),
            safe(VERDICTS[each["verdict"]]),
        ]
        for each in risky[:_PAIRS]
    ]
    rest = (
        f"{len(risky) - _PAIRS:,} more such pairs are in the JSON document. " if len(risky) > _PAIRS else ""
    )
    headers = ("pair", "difference", "under the target [95 %]", "p reversed", "L*", "verdict")
    return (
        f'{_table(headers, rows)}<p class="foot">{rest}L*: the largest slope of the difference curve at which '
        "the order is still guaranteed.</p>"
    )


def _figure(svg: str, caption: str, legend: Sequence[tuple[str, str]]) -> str:
    keys = "".join(f"<span>{_swatch(style)}{safe(text)}</span>" for style, text in legend)
    return f'<figure>{svg}<div class="legend">{keys}</div><figcaption>{safe(caption)}</figcaption></figure>'


def _swatch(style: str) -> str:
    if style in ("item", "censored", "flagged"):
        shape = f'<circle class="{style}" cx="11" cy="6" r="4"/>'
    elif style in ("curve", "target", "mark", "interval"):
        shape = f'<line class="{style}" x1="1" x2="21" y1="6" y2="6"/>'
    elif style == "rug":
        shape = f'<line class="{style}" x1="11" x2="11" y1="1" y2="11"/>'
    else:
        shape = f'<rect class="{style}" width="22" height="12"/>'
    return f'<svg viewBox="0 0 22 12" aria-hidden="true">{shape}</svg>'


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: int = 0) -> str:
    """A table of cells that are HTML already; the first column and the one named are text."""
    align = ['class="left"' if at in (0, left) else "" for at in range(len(headers))]
    head = "".join(f"<th {style}>{safe(text)}</th>" for style, text in zip(align, headers, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td {style}>{cell}</td>' for style, cell in zip(align, row, strict=True))}</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _list(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{safe(text)}</li>' for text in texts)}</ul>"


def _ninety(document: Document, key: str) -> str:
    return interval(document[f"{key}_lo90"], document[f"{key}_hi90"])
