"""What the ledger asks of its file."""

from __future__ import annotations

__all__ = [
    "CHARGED",
    "EXPORT",
    "EXPORTED",
    "INSERT_CALL",
    "INSERT_FAILURE",
    "LAST_FAILURE",
    "MEAN_USAGE",
    "SPEND",
]

INSERT_CALL = """
    INSERT OR IGNORE INTO calls
    (key, endpoint, role, model, run, tag, status, content_type,
     input_tokens, output_tokens, price, seconds, tries, charged_tokens, charged_cost, at, request, response)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_FAILURE = """
    INSERT INTO failures
    (key, endpoint, role, model, run, tag, status, content_type,
     input_tokens, output_tokens, price, seconds, tries, charged_tokens, charged_cost, at, request, response,
     fault)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
SPEND = """
    SELECT run, role, model, sum(usable), sum(1 - usable),
           coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0), sum(price),
           sum(price IS NULL), sum(output_tokens IS NULL), sum(seconds)
    FROM (
        SELECT run, role, model, input_tokens, output_tokens, price, seconds, 1 AS usable FROM calls
        UNION ALL
        SELECT run, role, model, input_tokens, output_tokens, price, seconds, 0 AS usable FROM failures
    )
    WHERE :run IS NULL OR run = :run
    GROUP BY run, role, model
    ORDER BY run, role, model
"""
# Rows of before the charge was kept count as reported.
CHARGED = """
    SELECT count(*), sum(coalesce(charged_tokens, coalesce(input_tokens, 0) + coalesce(output_tokens, 0))),
           sum(coalesce(charged_cost, price))
    FROM (
        SELECT charged_tokens, charged_cost, input_tokens, output_tokens, price FROM calls WHERE run = :run
        UNION ALL
        SELECT charged_tokens, charged_cost, input_tokens, output_tokens, price FROM failures WHERE run = :run
    )
"""
# The turns of a conversation have one tag but for the number at its end; a probe is no work of its role.
MEAN_USAGE = """
    SELECT role, model, count(*), count(DISTINCT run || ' ' || rtrim(tag, '0123456789')),
           avg(input_tokens), avg(output_tokens)
    FROM calls
    WHERE input_tokens IS NOT NULL AND output_tokens IS NOT NULL AND tag NOT LIKE 'probe/%'
    GROUP BY role, model
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
EXPORT = f"""
    SELECT {", ".join(EXPORTED)}, request, response
    FROM (
        SELECT key, run, role, endpoint, model, tag, at, status, content_type, '' AS fault, tries, seconds,
               input_tokens, output_tokens, price, request, response FROM calls
        UNION ALL
        SELECT key, run, role, endpoint, model, tag, at, status, content_type, fault, tries, seconds,
               input_tokens, output_tokens, price, request, response FROM failures
    )
    WHERE :run IS NULL OR run = :run
    ORDER BY at, key, tries
"""  # noqa: S608 - names are our own constants
