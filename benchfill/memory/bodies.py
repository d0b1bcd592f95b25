"""Bodies of calls as the ledger keeps them: packed against a dictionary of what most bodies have in common.

A packed body says itself how it was packed: a zlib stream (rows of before dictionaries were used), or a Zstandard frame
that names its dictionary. Dictionaries lie in the ledger's own file, so that it can be read for good; one that was
released is never changed, a better one gets the next number and packs what comes after it.
"""

from __future__ import annotations

import sqlite3
import sys
import zlib
from functools import cached_property
from pathlib import Path

from benchfill.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["LEVEL", "Bodies", "dictionary_file", "zstd"]

# With a dictionary higher levels gain 5 % and take two to five times as long.
LEVEL = 3
ZLIB = b"\x78"


def dictionary_file(number: int) -> Path:
    """Where a dictionary comes from that a new ledger is given."""
    return Path(__file__).with_name("dictionaries") / f"{number}.zdict"


class Bodies:
    """Packs and unpacks the bodies of one ledger.

    Parameters
    ----------
    path
        The ledger's file, for messages.
    connection
        To it, with its dictionaries.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._dictionaries: dict[int, zstd.ZstdDict] = {}

    @cached_property
    def _packer(self) -> zstd.ZstdCompressor:
        newest = self._connection.execute(
            "SELECT id FROM dictionaries ORDER BY number DESC LIMIT 1"
        ).fetchone()
        # A damaged body is told from a sound one, as zlib does.
        options: dict[int, int] = {
            zstd.CompressionParameter.compression_level: LEVEL,
            zstd.CompressionParameter.checksum_flag: 1,
        }
        return zstd.ZstdCompressor(options=options, zstd_dict=self._dictionary(newest[0]))

    def pack(self, body: bytes) -> bytes:
        return self._packer.compress(body, zstd.ZstdCompressor.FLUSH_FRAME)

    def unpack(self, packed: bytes) -> bytes:
        """The body, byte for byte; nothing of nothing, which stands for a body that was thrown away.

        Raises
        ------
        InputError
            It is damaged (kind ``corrupt``).
        """
        if not packed:
            return b""
        try:
            if packed.startswith(ZLIB):
                return zlib.decompress(packed)
            return zstd.decompress(packed, self._dictionary(zstd.get_frame_info(packed).dictionary_id))
        except (zlib.error, zstd.ZstdError) as error:
            raise InputError(
                f"{self._path} is damaged: a body in it cannot be read.",
                "`sqlite3 FILE .recover` may save the others.",
                kind="corrupt",
                path=str(self._path),
            ) from error

    def _dictionary(self, number: int) -> zstd.ZstdDict:
        if number not in self._dictionaries:
            (content,) = self._connection.execute(
                "SELECT content FROM dictionaries WHERE id = ?", (number,)
            ).fetchone()
            self._dictionaries[number] = zstd.ZstdDict(content)
        return self._dictionaries[number]
