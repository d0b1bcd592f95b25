r"""LaTeX that went through JSON: ``\frac``, ``\beta`` and ``\times`` are valid JSON escapes.

A model that forgets to double a backslash sends ``"\frac{1}{2}"``, and a correct JSON parser makes a form
feed followed by ``rac{1}{2}`` of it, without any error. Five initials are affected: b, f, n, r, t.
"""

from __future__ import annotations

import re

__all__ = ["repair_latex", "suspected_damage"]

# Tails of LaTeX commands after their first letter, by the control character that ate it. Only known commands
# are restored; tails that are words of their own ("an", "op", "o", "ar" after a tab) are left to be refused.
# A newline is legitimate text, so its tails are only those that begin no word.
_TAILS: dict[str, frozenset[str]] = {
    control: frozenset(tails.split())
    for control, tails in {
        "\f": "rac orall box lat rown",
        "\b": "eta inom egin ar oxed oldsymbol mod ot ig igl igr igg iggl iggr ullet ecause ackslash f reve "
        "igcup igcap igoplus igotimes igsqcup igvee igwedge owtie eth umpeq igtriangleup igstar igcirc",
        "\t": "imes heta ext extbf extit extrm extsf exttt extstyle au riangle frac ilde herefore binom anh "
        "riangleq rianglelefteq rianglerighteq woheadrightarrow",
        "\r": "ight ightarrow ightharpoonup ightleftarrows ightleftharpoons ho angle floor ceil vert Vert "
        "brace brack group times ule aisebox",
        "\n": "eq abla otin leq geq subseteq Rightarrow Leftarrow leftarrow",
    }.items()
}
_LETTER = {"\f": "f", "\b": "b", "\t": "t", "\r": "r", "\n": "n"}
_DAMAGE = re.compile("([\f\b\t\r\n])([A-Za-z]+)")
# \nu, \ne, \ni: single letters that could as well begin a line; \not before a relation.
_AMBIGUOUS = re.compile(r"\n(u|e|i|mid|ot)(?![A-Za-z])")
_INLINE_MATH = re.compile(r"(?<!\\)\$(?![\s$])([^$]{0,400}?)(?<![\s\\])\$|\\\((.{0,400}?)\\\)", re.DOTALL)


def repair_latex(text: str) -> str:
    r"""Restore LaTeX commands whose backslash and first letter became one control character.

    Parameters
    ----------
    text
        A field of a tool call as it was decoded.

    Returns
    -------
    str
        The text with ``\f`` + ``rac`` as ``\frac`` and so on, for known commands only and only where the
        letters that follow end with the command; CR LF becomes LF. ``\nu`` and ``\ne`` are restored only in a
        text that held a damage beyond doubt: a line may begin with "u" or "e". Anything else is left as it
        is; control characters that remain are for the screening to refuse.
    """
    text = text.replace("\r\n", "\n")
    certain = False

    def restore(match: re.Match[str]) -> str:
        nonlocal certain
        control, tail = match.groups()
        if tail not in _TAILS[control]:
            return match.group(0)
        certain = True
        return f"\\{_LETTER[control]}{tail}"

    repaired = _DAMAGE.sub(restore, text)
    if certain:
        repaired = re.sub(r"\n([ue])(?![A-Za-z])", r"\\n\1", repaired)
    return repaired


def suspected_damage(text: str) -> str:
    r"""Find a line break inside inline mathematics that looks like ``\nu``, ``\ne``, ``\ni`` or ``\not``.

    Returns
    -------
    str
        The suspicious command, e.g. ``"\\ne"``, or an empty text.
    """
    for formula in _INLINE_MATH.finditer(text):
        found = _AMBIGUOUS.search(formula.group(1) or formula.group(2) or "")
        if found:
            return f"\\n{found.group(1)}"
    return ""
