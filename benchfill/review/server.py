"""The review page: one packet, one reviewer, on the loopback of their own machine."""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from benchfill.errors import InputError
from benchfill.logs.json_records import read_json_records
from benchfill.logs.text import read_text
from benchfill.review.decision_files import DECISIONS_FILE
from benchfill.review.journal import Journal, StaleDecision
from benchfill.review.mathml import pieces
from benchfill.review.vocabulary import FORM_FIELDS, REASONS, VERDICTS

__all__ = ["read_packet", "review_app", "serve"]

LONGEST_BODY = 100_000
LONGEST_TEXT = 20_000
TYPES = {"page.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
# No script but the page's own file, no node made from text by the browser, nothing fetched from anywhere.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
LOOPBACK = ("127.0.0.1", "localhost")


def read_packet(folder: Path) -> list[dict[str, Any]]:
    """The form of a packet.

    Raises
    ------
    InputError
        ``not_a_packet``: the folder holds no form as `benchfill review export` writes it.
    """
    path = folder / "review.jsonl"
    if not path.is_file():
        raise InputError(
            f"{folder} is no packet.",
            "Name the folder of one reviewer, e.g. packets/r1.",
            kind="not_a_packet",
            path=str(folder),
        )
    rows = [row for _, row in read_json_records(read_text(path), str(path))]
    if any(set(row) != set(FORM_FIELDS) for row in rows):
        raise InputError(f"{path} is no form of a review.", kind="not_a_packet", path=str(path))
    return rows


def review_app(rows: list[dict[str, Any]], journal: Journal, token: str) -> Starlette:
    """The page and what it asks for.

    Parameters
    ----------
    token
        Goes out with the page and has to come back with each decision: another site cannot know it.
    """
    by_id = {str(row["blind_id"]): row for row in rows}

    async def page(request: Request) -> Response:
        name = request.path_params.get("name", "page.html")
        if name not in TYPES:
            return _refused(404, "there is no such file")
        content = (files("benchfill.review") / "page" / name).read_text(encoding="utf-8")
        return Response(content.replace("{token}", token), media_type=TYPES[name], headers=HEADERS)

    async def packet(request: Request) -> Response:
        shown = [
            {
                "blind_id": row["blind_id"],
                "question": pieces(row["question"]),
                "key": pieces(row["key"], key=True),
                "question_source": row["question"],
                "key_source": row["key"],
            }
            for row in rows
        ]
        return _json(
            {"items": shown, "decisions": journal.current(), "verdicts": VERDICTS, "reasons": REASONS}
        )

    async def decisions(request: Request) -> Response:
        return _json({"decisions": journal.current()})

    async def decide(request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get("x-review-token", ""), token):
            return _refused(403, "this page is not of this server; load it again")
        body = await request.body()
        if len(body) > LONGEST_BODY:
            return _refused(413, "too long")
        try:
            given = json.loads(body)
            row, based_on = _decision(given, by_id)
        except (ValueError, TypeError, KeyError, RecursionError):
            return _refused(400, "not a decision of this form")
        try:
            revision = journal.save(row, based_on)
        except StaleDecision as stale:
            return _json({"decision": stale.current}, 409)
        except OSError as error:
            return _refused(507, f"not saved: {error.strerror}")
        return _json({"revision": revision})

    app = Starlette(
        routes=[
            Route("/", page),
            Route("/api/packet", packet),
            Route("/api/decisions", decisions),
            Route("/api/decision", decide, methods=["POST"]),
            Route("/{name}", page),
        ]
    )
    app.add_middleware(_LoopbackOnly)
    return app


class _LoopbackOnly:
    """Refuses requests by another name than this machine's own: a foreign name may lead here (DNS rebinding)."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or ())
        host = headers.get(b"host", b"").decode("latin-1")
        origin = headers.get(b"origin", b"").decode("latin-1")
        if host.rsplit(":", 1)[0] not in LOOPBACK or origin not in ("", f"http://{host}"):
            await _refused(403, "this page is served to this machine only")(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _decision(given: Any, by_id: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Any], int]:
    """A line of the journal from what the page sent, by an allow-list.

    Raises
    ------
    ValueError, TypeError, KeyError
        Anything is not as the page sends it.
    """
    row = by_id[given["blind_id"]]
    answer, comment, reasons, seconds = (given[name] for name in ("answer", "comment", "reasons", "seconds"))
    texts = (
        isinstance(answer, str) and isinstance(comment, str) and len(answer) + len(comment) <= LONGEST_TEXT
    )
    listed = isinstance(reasons, list) and set(reasons) <= set(REASONS)
    timed = isinstance(seconds, int | float) and 0 <= seconds < 1e6
    based_on = given["based_on"]
    if not (texts and listed and timed and given["verdict"] in VERDICTS and isinstance(based_on, int)):
        raise ValueError("not as the page sends it")
    return {
        "blind_id": row["blind_id"],
        "item_hash": row["item_hash"],
        "reviewer": row["reviewer"],
        "verdict": given["verdict"],
        "answer": answer.strip(),
        "reasons": reasons,
        "comment": comment.strip(),
        "seconds": round(float(seconds), 1),
    }, based_on


def _json(content: Any, status: int = 200) -> Response:
    return JSONResponse(content, status_code=status, headers=HEADERS)


def _refused(status: int, reason: str) -> Response:
    return _json({"error": reason}, status)


def serve(folder: Path, *, port: int = 0, ready: Callable[[str], None]) -> None:
    """Serve a packet on 127.0.0.1 until interrupted.

    Parameters
    ----------
    port
        0: any free one.
    ready
        Called with the address of the page.

    Raises
    ------
    InputError
        What `read_packet` and `Journal` raise; ``port_taken``.
    """
    rows = read_packet(folder)
    journal = Journal(folder / DECISIONS_FILE)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(
                f"Port {port} cannot be used: {error.strerror}.", "Name another --port.", kind="port_taken"
            ) from None
        listener.listen(64)
        config = uvicorn.Config(
            review_app(rows, journal, secrets.token_urlsafe(24)),
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            access_log=False,
            log_level="error",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        ready(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
    finally:
        listener.close()
        journal.close()
