"""Multiple choice: which letter a response chose, by the letter or by the text of one option only."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchfill.item import Item
from benchfill.tools.grading.declarations import Declaration, Declared
from benchfill.tools.grading.evaluation import TooLarge, exact
from benchfill.tools.grading.latex import canonical_math, unwrap_text
from benchfill.tools.grading.reading import first_statement, text_lines, undecorated
from benchfill.tools.grading.values import read_value
from benchfill.tools.grading.words import clauses, plain_words

__all__ = ["Chosen", "Options", "key_letters", "options_of", "read_choice"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LEAD = re.compile(
    r"^(?:(?:the\s+)?(?:option|choice|letter|answer|statement|is|选项|選項)\s*)?[*_]{0,4}(?P<open>[(\[{]?)\s*(?P<letter>[A-Za-z])\s*"
    r"(?P<close>[)\]}]?)[*_]{0,4}(?![A-Za-z0-9'])(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_CONNECTED = re.compile(
    r"^\s*(?:$|[.:,;!?)\]](?!\w)|[-–—]\s|\n|(?:because|since|as|for|which|and|or|is|are|with|due|so|given|by|but|where|that|"
    r"[^\x00-\x7f]))",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^\W*(?:option\s+)?(?P<letter>[A-Z])(?:\W*$|\s*[*_]{0,4}[.:)\]])", re.IGNORECASE)
_REJECTING = re.compile(r"\b(?:eliminat|rul(?:e|es|ed|ing) out|reject|exclud|incorrect|wrong)", re.IGNORECASE)
_NEXT = re.compile(
    r"^\s*(?:,|/|&|\+|;)?\s*(?:and|or|und|oder|和|或)?\s*[*_]{0,4}[(\[]?([A-Z])[)\]]?[*_]{0,4}(?![A-Za-z0-9'])"
)
_ALONE = re.compile(r"(?<![A-Za-z0-9'\\])(?P<open>[(\[]?)(?P<letter>[A-Z])(?P<close>[)\]]?)(?![A-Za-z0-9'])")
_NAMED = re.compile(
    r"(?:\b(?:is|be|option|choice|letter|answer|choose|pick|select)|[:：是为選选])\s*[*_]{0,4}$",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\bnot|n't|\bneither|\bnor|\bexcept|\bthan|\bunlike|不是|不选)\s+(?:be\s+)?(?:the\s+)?(?:option\s+|choice\s+)?[(\[*_]{0,4}$",
    re.IGNORECASE,
)
_LETTER = r"[*_]{{0,4}}[(\[]?(?P<{}>[A-Z])[)\]]?[*_]{{0,4}}(?![A-Za-z0-9'])"
_VERDICT = re.compile(
    rf"(?<![A-Za-z0-9']){_LETTER.format('after')}\s+is\s+(?:the\s+|therefore\s+|thus\s+)?"
    r"(?:correct|right|best|only correct)\b"
    r"|\b(?:choose|select|pick|go with|opt for|going with)\s+(?:the\s+)?(?:option\s+|answer\s+|choice\s+|letter\s+)?"
    rf"{_LETTER.format('before')}(?!\s+(?!because|since|as\b|for\b|which|and\b)[a-z])"
)


@dataclass(frozen=True, slots=True)
class Options:
    """Letters of an item and the texts behind them (empty when only the letters are known)."""

    letters: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What was chosen: several letters are an answer to a multiple-select item and hedging elsewhere.

    ``ambiguous``: the text chosen is that of several options.
    """

    letters: tuple[str, ...]
    ambiguous: bool = False


def options_of(item: Item) -> Options:
    """Letters and texts of an item; without choices the letters A to J are assumed."""
    if not item.choices:
        used = [ord(letter) - 65 for letter in re.findall(r"(?<![A-Za-z])[A-Z](?![A-Za-z])", item.answer)]
        return Options(_LETTERS[: max([10, *(index + 1 for index in used)])], ())
    letters = _LETTERS[: len(item.choices)]
    texts = tuple(choice.strip() for choice in item.choices)
    return Options(letters, () if texts == tuple(letters) else texts)


def key_letters(item: Item, answer: str | None = None) -> tuple[str, ...]:
    """Letters of the key (or of another accepted answer), sorted; empty when it names no option of the item."""
    answer = item.answer if answer is None else answer
    options = options_of(item)
    key = plain_words(unwrap_text(answer)).upper()
    pieces = [piece.strip(" ()[].") for piece in re.split(r"[,;/&]|\bAND\b", key)]
    if all(len(piece) == 1 and piece in options.letters for piece in pieces):
        return tuple(sorted(set(pieces)))
    if item.answer_type == "mcq-multi" and key.isalpha() and set(key) <= set(options.letters):
        return tuple(sorted(set(key)))
    by_text = _by_text(answer, options)
    labelled = _LEAD.match(answer.strip())
    if not by_text and labelled and labelled.group("letter") in options.letters:
        marked = labelled.group("close") or labelled.group("rest")[:1] in (".", ":", ",")
        return (labelled.group("letter"),) if marked else ()
    return by_text


def read_choice(text: str, declared: Declared, options: Options, *, several: bool) -> Chosen | None:
    """The last choice a response states.

    Parameters
    ----------
    text
        Cleaned response.
    declared
        Its statements.
    options
        Letters and texts of the item.
    several
        Whether the item asks for all right options.
    """
    statements = [*declared.declarations, *_verdicts(text)]
    weak: Chosen | None = None
    for statement in sorted(statements, key=lambda one: one.start, reverse=True):
        content = statement.content if statement.delimited else first_statement(statement.content)
        if statement.kind == "postfix" and _first_letter(content):
            continue  # "B vitamins are the answer": a word follows the letter
        chosen = _direct(content, options, several)
        if chosen is not None:
            return chosen
        if weak is None:
            weak = _indirect(content, options)
    if weak is not None or declared.empty_box:
        return weak
    lines = text_lines(text)
    labelled = {match.group("letter") for line in lines if (match := _LABEL.match(line))}
    for line in (lines[-1], lines[0]) if lines and len(labelled) < 2 else ():
        chosen = _direct(line, options, several) if len(line) < 300 else None
        if chosen is not None and (chosen.letters != _first_letter(line) or _LABEL.match(line)):
            return chosen
    return None


def _first_letter(line: str) -> tuple[str, ...]:
    """The letter of a line that begins with one and goes on in words: no choice when nothing announces it."""
    match = re.match(r"\W*([A-Z])\s+\w", line)
    return (match.group(1),) if match else ()


def _verdicts(text: str) -> list[Declaration]:
    found = []
    for match in _VERDICT.finditer(text):
        letter = match.group("after") or match.group("before")
        if not _NEGATED.search(text[: match.start()][-40:]):
            found.append(Declaration("postfix", letter, match.start()))
    return found


def _direct(content: str, options: Options, several: bool) -> Chosen | None:
    """A content that begins with a letter of the options, or is the text of one of them."""
    content = unwrap_text(re.sub(r"\\[()\[\]]|\$", "", content)).strip()
    content = re.sub(
        r"^(?:therefore|thus|hence|so|finally|ok(?:ay)?)\b[,:]?\s+",
        "",
        undecorated(content),
        flags=re.IGNORECASE,
    )
    if several:
        content = re.sub(r"[\[\]\"']", "", content)
    lead = _LEAD.match(content)
    if lead is not None:
        letter, rest = lead.group("letter"), lead.group("rest")
        bracketed = bool(lead.group("close"))
        alone = not re.search(r"\w", rest)
        if (letter.isupper() or bracketed or alone) and letter.upper() in options.letters:
            letter = letter.upper()
            if _is_choice(letter, rest, options, bracketed=bracketed):
                letters = [letter, *_following(rest, options)]
                return Chosen(tuple(sorted(set(letters))))
    if several:
        joined = re.match(r"^([A-Z]{2,})(?![A-Za-z])", content)
        if (
            joined
            and set(joined.group(1)) <= set(options.letters)
            and len(set(joined.group(1))) == len(joined.group(1))
        ):
            return Chosen(tuple(sorted(joined.group(1))))
    for clause in clauses(content):
        matching = _by_text(clause, options)
        if matching:
            return Chosen(matching, ambiguous=len(matching) > 1)
    return None


def _is_choice(letter: str, rest: str, options: Options, *, bracketed: bool) -> bool:
    if bracketed or _CONNECTED.match(rest):
        return not (letter == "I" and re.match(r"^\s+(?:am|think|would)", rest))
    if _NEXT.match(rest):
        return True
    if letter not in "AI":
        return True
    # "A car", "I think": a word, unless the text of that very option follows.
    own = options.texts[options.letters.index(letter)] if options.texts else ""
    return bool(own) and plain_words(rest).startswith(plain_words(own))


def _following(rest: str, options: Options) -> list[str]:
    letters = []
    while (match := _NEXT.match(rest)) and match.group(1) in options.letters:
        after = rest[match.end() :]
        if re.match(r"^\s+(?:is|are|was|has|seems|would|can|does|because)\b", after):
            break  # a new clause about another option
        if match.group(1) in "AI" and re.match(r"^\s+[a-z]", after) and not _CONNECTED.match(after):
            break
        if not re.match(r"^\s*[,/&+;]|^\s*(?:and|or|und|oder|和|或)|^\s+[A-Z](?!\w)", rest):
            break
        letters.append(match.group(1))
        rest = after
    return letters


def _indirect(content: str, options: Options) -> Chosen | None:
    """The only letter that stands alone in a sentence and is not rejected there."""
    found: set[str] = set()
    if _REJECTING.search(content):
        return None
    for match in _ALONE.finditer(content):
        letter = match.group("letter")
        before, after = content[: match.start()], content[match.end() :]
        if letter not in options.letters or _NEGATED.search(before[-40:]):
            continue
        bracketed = bool(match.group("open") and match.group("close"))
        if letter in "AI" and not bracketed and not (_NAMED.search(before) and _CONNECTED.match(after)):
            continue
        found.add(letter)
    return Chosen(tuple(found)) if len(found) == 1 else None


def _by_text(text: str, options: Options) -> tuple[str, ...]:
    """Letters of the options whose text this is, by words or by exact value."""
    words = plain_words(text)
    if not words or not options.texts:
        return ()
    same = [letter for letter, own in _pairs(options) if plain_words(own) == words]
    if same:
        return tuple(same)
    value = _number(text)
    return tuple(letter for letter, own in _pairs(options) if value is not None and _number(own) == value)


def _pairs(options: Options) -> Sequence[tuple[str, str]]:
    return list(zip(options.letters, options.texts, strict=True))


def _number(text: str) -> object:
    value = read_value(canonical_math(text), units="first")
    try:
        number = None if value is None else exact(value.node)
    except TooLarge:
        return None
    return None if value is None or number is None else (number, value.unit, value.percent)
