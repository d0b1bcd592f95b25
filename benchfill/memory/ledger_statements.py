"""What the ledger asks of its file."""

from __future__ import annotations

__all__ = [
    "CHARGED",
    "EXPORTED",
    "EXPORT_ORDER",
    "EXPORT_ROW",
    "INSERT_CALL",
    "INSERT_FAILURE",
    "LAST_FAILURE",
    "LOOK_UP",
    "MEAN_USAGE",
    "RUN_OF",
    "SPEND",
]

LOOK_UP = "SELECT status, content_type, response FROM calls WHERE key = ?"
RUN_OF = "SELECT run FROM calls WHERE key = ?"
INSERT_CALL = """
    INSERT INTO calls
    (key, endpoint, role, model, run, tag, status, content_type,
     input_tokens, output_tokens, price, seconds, tries, charged_tokens, charged_cost, at, request, response)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO NOTHING
"""
INSERT_FAILURE = """
    INSERT INTO failures
    (key, endpoint, role, model, run, tag, status, content_type,
     input_tokens, output_tokens, price, seconds, tries, charged_tokens, charged_cost, at, request, response,
     fault)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# Sums are kept by triggers (see ledger_schema.py), so that none of these reads the calls.
SPEND = """
    SELECT run, role, model, calls, failed, input_tokens, output_tokens, price, unpriced, unmetered, seconds, NOT kept
    FROM totals
    WHERE (:run IS NULL OR run = :run) AND (kept OR :pruned)
    ORDER BY run, role, model, kept DESC
"""
CHARGED = """
    SELECT coalesce(sum(calls + failed), 0), coalesce(sum(charged_tokens), 0), sum(charged_cost)
    FROM totals WHERE run = ? AND kept
"""
MEAN_USAGE = """
    SELECT role, model, sum(metered), max(sum(tasks), 1),
           1.0 * sum(metered_input) / sum(metered), 1.0 * sum(metered_output) / sum(metered)
    FROM totals
    GROUP BY role, model HAVING sum(metered) > 0
    ORDER BY role, model
"""
LAST_FAILURE = """
    SELECT fault, status, content_type, response
    FROM failures
    WHERE key = ? AND run = ? AND fault NOT IN ('cancelled', 'duplicate')
    ORDER BY rowid DESC LIMIT 1
"""
EXPORTED = ("key", "run", "role", "endpoint", "model", "tag", "at", "status", "content_type", "fault", "tries",
            "seconds", "input_tokens", "output_tokens", "price")  # fmt: skip
# The order is found without the bodies, which are many times as large.
EXPORT_ORDER = """
    SELECT at, key, tries, 0 AS failed, rowid AS place FROM calls {where}
    UNION ALL
    SELECT at, key, tries, 1, rowid FROM failures {where}
    ORDER BY at, key, tries, failed, place
"""
EXPORT_ROW = tuple(
    f"SELECT {', '.join(EXPORTED).replace(' fault', f' {fault} AS fault')}, request, response "  # noqa: S608
    f"FROM {table} WHERE rowid = ?"
    for table, fault in (("calls", "''"), ("failures", "fault"))
)
