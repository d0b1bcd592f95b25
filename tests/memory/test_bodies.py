"""Bodies come back byte for byte, whichever version packed them, and from the ledger's file alone."""

from __future__ import annotations

import hashlib
import random
import zlib
from pathlib import Path

import pytest

from benchfill.errors import InputError
from benchfill.memory import bodies as bodies_module
from benchfill.memory.bodies import dictionary_file
from benchfill.memory.ledger import Ledger
from tests.memory.test_ledger import call

REQUEST = (
    b'{"stream":false,"model":"m","seed":811407558856704,"messages":[{"content":"Answer the question. Reason as you '
    b'need. End with your final answer, once, as \\\\boxed{...}; inside the braces stands one number, without unit.",'
    b'"role":"system"},{"content":"A train leaves at noon. When does it arrive?","role":"user"}]}'
)


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


@pytest.mark.parametrize(
    "body",
    [b"", b"x", bytes(range(256)), b"\x78\x01", b"\x28\xb5\x2f\xfd", "é文\ud800".encode("utf-8", "surrogatepass"),
     random.Random(1).randbytes(300_000), REQUEST, b"a" * 3_000_000],
)  # fmt: skip
def test_every_body_comes_back(ledger: Ledger, body: bytes) -> None:
    assert ledger.bodies.unpack(ledger.bodies.pack(body)) == body
    assert ledger.bodies.unpack(zlib.compress(body, 1)) == body


def test_a_body_like_the_dictionary_shrinks_to_a_fraction(ledger: Ledger) -> None:
    assert 2 * len(ledger.bodies.pack(REQUEST)) < len(zlib.compress(REQUEST, 9)) < len(REQUEST)


def test_a_ledger_is_read_with_its_own_dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.commit(call(response=REQUEST))
    monkeypatch.setattr(bodies_module, "dictionary_file", lambda number: tmp_path / "nowhere")
    with Ledger(path) as ledger:
        stored = ledger.look_up("k")
        assert stored is not None
        assert stored.response == REQUEST


def test_a_released_dictionary_never_changes() -> None:
    digest = hashlib.sha256(dictionary_file(1).read_bytes()).hexdigest()
    assert digest == "3ed8346b0855bdf545cad4192b88cc245b0191c82f87f90943b336cf577794ae"


@pytest.mark.parametrize("pack", ["zlib", "zstd"])
def test_a_damaged_body_is_one_line(ledger: Ledger, pack: str) -> None:
    packed = bytearray(zlib.compress(REQUEST) if pack == "zlib" else ledger.bodies.pack(REQUEST))
    packed[-1] ^= 0xFF
    with pytest.raises(InputError, match="is damaged") as caught:
        ledger.bodies.unpack(bytes(packed))
    assert caught.value.kind == "corrupt"
