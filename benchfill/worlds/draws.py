"""A stream of random numbers that depends on nothing but the texts and numbers it is named by.

A counter-mode SHA-256 stream: the same parts give the same numbers on every platform and Python version,
whatever was drawn elsewhere, in whatever order requests arrive.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

__all__ = ["Draws"]

T = TypeVar("T")
_WORDS = struct.Struct(">4Q")


class Draws:
    """Numbers drawn from the SHA-256 of ``parts``.

    Parameters
    ----------
    parts
        What the stream is named by; texts and integers, joined unambiguously.
    """

    __slots__ = ("_at", "_block", "_count", "_key")

    def __init__(self, *parts: str | int) -> None:
        # A "#" marks a number; a text that begins with one gets another, so that "#5" is not 5.
        texts = [f"#{part}" if isinstance(part, int) or part[:1] == "#" else part for part in parts]
        named = "".join(f"{len(text)}:{text}" for text in texts)
        # Lone surrogates are legal in JSON texts and must not end a request in an encoding error.
        self._key = sha256(named.encode("utf-8", "surrogatepass")).digest()
        self._block = _WORDS.unpack(self._key)
        self._at = 0
        self._count = 0

    def word(self) -> int:
        """The next 64 bits."""
        if self._at == 4:
            self._count += 1
            self._block = _WORDS.unpack(sha256(self._key + self._count.to_bytes(8, "big")).digest())
            self._at = 0
        word: int = self._block[self._at]
        self._at += 1
        return word

    def uniform(self) -> float:
        """A number in [0, 1), 53 bits."""
        return (self.word() >> 11) * 2.0**-53

    def below(self, bound: int) -> int:
        """A whole number in [0, bound); the bias of the modulus is below bound / 2**64."""
        return self.word() % bound

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[self.below(len(options))]

    def normal(self) -> float:
        """A standard normal number (Box-Muller, one of the pair)."""
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        return radius * math.cos(2.0 * math.pi * self.uniform())

    def shuffled(self, values: Sequence[T]) -> list[T]:
        """The values in random order (Fisher-Yates)."""
        out = list(values)
        for last in range(len(out) - 1, 0, -1):
            other = self.below(last + 1)
            out[last], out[other] = out[other], out[last]
        return out
