"""What the page may ask for, and from where; what is on disk before it is told so."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchfill.errors import InputError
from benchfill.review.journal import Journal, StaleDecision
from benchfill.review.server import read_packet, review_app
from benchfill.review.vocabulary import FORM_FIELDS

TOKEN = "t0ken"  # noqa: S105
HOST = "127.0.0.1:8000"


def packet(folder: Path, count: int = 3) -> Path:
    rows = [
        dict.fromkeys(FORM_FIELDS, "") | {
            "blind_id": f"bcdfghj{letter}", "item_hash": "h", "reviewer": "r1", "question": f"What is ${n}+{n}$?",
            "key": str(2 * n), "reasons": [], "seconds": None,
        } for n, letter in enumerate("klmnpqrst"[:count])
    ]  # fmt: skip
    folder.mkdir(exist_ok=True)
    (folder / "review.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Any, Path]]:
    folder = packet(tmp_path / "r1")
    journal = Journal(folder / "decisions.jsonl")
    yield review_app(read_packet(folder), journal, TOKEN), folder / "decisions.jsonl"
    journal.close()


def ask(
    app: Any, path: str, body: Any = None, *, host: str = HOST, origin: str = "", proof: str = TOKEN
) -> tuple[int, dict[str, str], bytes]:
    """One request straight to the application."""
    method = "GET" if body is None else "POST"
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"host": host, "origin": origin, "x-review-token": proof}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http", "server": None,
        "client": None, "headers": [(k.encode(), v.encode()) for k, v in headers.items() if v],
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    told = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return sent[0]["status"], told, b"".join(message.get("body", b"") for message in sent[1:])


def decision(**changes: Any) -> dict[str, Any]:
    return {"blind_id": "bcdfghjk", "verdict": "approve", "answer": " 0 ", "reasons": [], "comment": "",
            "seconds": 3.14159, "based_on": 0, **changes}  # fmt: skip


def test_the_page_runs_no_script_but_its_own(served: tuple[Any, Path]) -> None:
    app, _ = served
    status, headers, body = ask(app, "/")
    assert status == 200
    assert TOKEN.encode() in body
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    assert headers["cache-control"] == "no-store"
    script = ask(app, "/page.js")[2].decode()
    assert not any(
        word in script for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write")
    )
    assert "http" not in script.replace("http://www.w3.org/1998/Math/MathML", "")
    assert ask(app, "/instructions.md")[0] == 404
    assert ask(app, "/../server.py")[0] == 404


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        (HOST, "", 200),
        (HOST, f"http://{HOST}", 200),
        ("localhost:8000", "http://localhost:8000", 200),
        ("evil.example:8000", "", 403),
        ("127.0.0.1.evil.example:8000", "", 403),
        (HOST, "http://evil.example", 403),
        (HOST, "null", 403),
        ("", "", 403),
    ],
)
def test_only_this_machine_is_served_by_its_own_name(
    served: tuple[Any, Path], host: str, origin: str, status: int
) -> None:
    assert ask(served[0], "/api/packet", host=host, origin=origin)[0] == status
    assert ask(served[0], "/api/decision", decision(), host=host, origin=origin)[0] == status


def test_a_decision_is_on_disk_when_it_is_told_so(served: tuple[Any, Path]) -> None:
    app, path = served
    assert ask(app, "/api/decision", decision(), proof="another")[0] == 403
    assert path.read_text() == ""
    status, _, body = ask(app, "/api/decision", decision())
    assert (status, json.loads(body)) == (200, {"revision": 1})
    assert json.loads(path.read_text()) == {
        "blind_id": "bcdfghjk", "item_hash": "h", "reviewer": "r1", "verdict": "approve", "answer": "0",
        "reasons": [], "comment": "", "seconds": 3.1, "revision": 1,
    }  # fmt: skip


def test_a_tab_that_has_not_seen_the_latest_decision_saves_nothing(served: tuple[Any, Path]) -> None:
    app, path = served
    ask(app, "/api/decision", decision())
    status, _, body = ask(app, "/api/decision", decision(verdict="reject"))
    assert (status, json.loads(body)["decision"]["verdict"]) == (409, "approve")
    assert len(path.read_text().splitlines()) == 1
    assert ask(app, "/api/decision", decision(verdict="reject", based_on=1))[0] == 200
    assert [json.loads(line)["revision"] for line in path.read_text().splitlines()] == [1, 2]
    current = json.loads(ask(app, "/api/decisions")[2])["decisions"]
    assert current["bcdfghjk"]["verdict"] == "reject"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"[" * 100_000,
        decision(blind_id="nobody"),
        decision(verdict="aprove"),
        decision(answer=5),
        decision(reasons=["because"]),
        decision(seconds=-1),
        decision(seconds=None),
        decision(based_on="1"),
        decision(comment="x" * 30_000),
        {"blind_id": "bcdfghjk"},
    ],
)
def test_what_the_page_would_not_send_is_refused(served: tuple[Any, Path], body: Any) -> None:
    app, path = served
    assert ask(app, "/api/decision", body)[0] in (400, 413)
    assert path.read_text() == ""


def test_a_line_cut_short_by_a_crash_is_dropped_and_the_rest_resumed(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    journal = Journal(path)
    journal.save({"blind_id": "x", "verdict": "approve"}, 0)
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"blind_id": "y", "verd')
    journal = Journal(path)
    assert list(journal.current()) == ["x"]
    assert path.read_bytes() == whole
    with pytest.raises(StaleDecision):
        journal.save({"blind_id": "x", "verdict": "reject"}, 0)
    journal.save({"blind_id": "y", "verdict": "reject"}, 0)
    journal.close()
    assert [json.loads(line)["blind_id"] for line in path.read_text().splitlines()] == ["x", "y"]


def test_what_is_no_packet_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no packet"):
        read_packet(tmp_path)
    (tmp_path / "review.jsonl").write_text('{"blind_id": "x", "origin": "original"}\n')
    with pytest.raises(InputError, match="no form of a review"):
        read_packet(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        Journal(tmp_path)
