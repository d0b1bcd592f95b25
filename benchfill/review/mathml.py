"""Texts with LaTeX as what a page builds its nodes from: pieces of text, and formulas as trees of MathML.

Nothing here is HTML: the page makes every node itself, of the elements and attributes listed here and no others. A
formula that cannot be converted is shown as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

__all__ = ["pieces"]

# $$..$$, \[..\], \(..\), and $..$ as Pandoc reads it: no blank inside the dollars, no digit behind them, so that
# "$5 and $6" is money.
FORMULA = re.compile(
    r"\$\$(?P<double>.+?)\$\$|\\\[(?P<display>.+?)\\\]|\\\((?P<inline>.+?)\\\)"
    r"|(?<![\\$])\$(?P<single>(?=\S)(?:[^$\\]|\\.)*?(?<=\S))\$(?!\d)",
    re.DOTALL,
)
BARE = re.compile(r"\\[A-Za-z]+\s*[{\[(\\]|\\(pi|infty|circ|cdot|times|sqrt)\b|[\w)}][\^_]\{")
LONGEST = 4000
# fmt: off
ELEMENTS = frozenset({
    "math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded",
    "mphantom", "menclose", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts",
    "none", "mtable", "mtr", "mtd", "mlabeledtr",
})
ATTRIBUTES = frozenset({
    "display", "mathvariant", "stretchy", "fence", "form", "lspace", "rspace", "minsize", "maxsize", "separator",
    "symmetric", "movablelimits", "accent", "accentunder", "linethickness", "columnalign", "rowspacing",
    "columnspacing", "columnlines", "rowlines", "displaystyle", "scriptlevel", "width", "height", "depth",
    "notation", "mathcolor",
})
# fmt: on


def pieces(text: str, *, key: bool = False) -> list[list[Any]]:
    """A text in pieces: ``["text", text]`` and ``["math", tree, source]``.

    A tree is ``[element, attributes, children]``, a child a tree or a text.

    Parameters
    ----------
    key
        A key is often bare LaTeX (``\\frac{3}{4}``): one that looks so and has no dollars is one formula.
    """
    if key and BARE.search(text) and not FORMULA.search(text):
        tree = _tree(text, "inline")
        return [["text", text]] if tree is None else [["math", tree, text]]
    return list(_pieces(text))


def _pieces(text: str) -> Iterator[list[Any]]:
    done = 0
    for match in FORMULA.finditer(text):
        block = match["double"] or match["display"]
        tree = _tree(block or match["inline"] or match["single"], "block" if block else "inline")
        if tree is None:
            continue
        if match.start() > done:
            yield ["text", text[done : match.start()]]
        yield ["math", tree, match.group(0)]
        done = match.end()
    if done < len(text):
        yield ["text", text[done:]]


def _tree(latex: str, display: str) -> list[Any] | None:
    from latex2mathml.converter import convert

    if len(latex) > LONGEST:
        return None
    try:
        reader = _Reader()
        reader.feed(convert(latex, display=display))
        reader.close()
    except Exception:  # whatever a converter makes of foreign text, the text itself can be shown
        return None
    return reader.tree()


class _Reader(HTMLParser):
    """What the converter wrote, as a tree; elements beyond the list make it unusable, attributes are dropped."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._root: list[Any] = ["", {}, []]
        self._open = [self._root]
        self._usable = True

    def tree(self) -> list[Any] | None:
        children = self._root[2]
        whole = self._usable and len(self._open) == 1 and len(children) == 1
        return children[0] if whole and children[0][0] == "math" else None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._usable = self._usable and tag in ELEMENTS
        kept = {name: value or "" for name, value in attrs if name in ATTRIBUTES}
        node: list[Any] = [tag, kept, []]
        self._open[-1][2].append(node)
        self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        self._usable = self._usable and len(self._open) > 1 and self._open[-1][0] == tag
        if len(self._open) > 1:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1][2].append(data)
