"""The dictionary that bodies of the ledger are compressed with: how it was made, and what it gains.

    python -m benchmarks.ledger_dictionary make LEDGER OUT
    python -m benchmarks.ledger_dictionary compare LEDGER

The first makes a dictionary from the ledger of a run over the embedded endpoint: requests and replies of every role,
the answer prompts of the answer types, and replies in the shapes of other servers. A dictionary that was released is
never made anew: a better one gets the next number. The second compares ways of packing on bodies of a ledger, which
should be another one than the dictionary was made from; times are of processor, one body at a time, best of three.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchfill.item import Item
from benchfill.memory.bodies import LEVEL, dictionary_file, zstd
from benchfill.memory.ledger import Ledger
from benchfill.prompts.render import PromptBook

ROLES = ("rewriter", "judge", "pool")
# Of the longest body, which ends in texts of the benchmark: what is the same in every run comes before.
LONGEST = 9000
# Beside its content a dictionary holds tables of frequencies.
TABLES = 4096
REPLIES = (
    '{"id":"chatcmpl-","object":"chat.completion","created":17,"model":"","choices":[{"index":0,"message":{"role":'
    '"assistant","reasoning_content":null,"content":"","refusal":null,"annotations":null,"audio":null,'
    '"function_call":null,"tool_calls":[]},"logprobs":null,"finish_reason":"stop","stop_reason":null}],'
    '"service_tier":"default","system_fingerprint":null,"usage":{"prompt_tokens":1,"total_tokens":2,'
    '"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":'
    '{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}},'
    '"prompt_logprobs":null,"kv_transfer_params":null}',
    '{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"<think>\\nOkay, let\'s '
    "see. We need to find the number of ways. First, let me work this out step by step. So the total is the sum of the "
    "\\n</think>\\n\\nTo solve this problem, we start with the given values.\\n\\n**Step 1:** Since each of the "
    "\\n\\n### Step 2: Therefore, the answer is \\\\(\\\\frac{1}{2}\\\\), which means that there are\\n\\n"
    'Thus, the final answer is:\\n\\n\\\\[\\n\\\\boxed{}\\n\\\\]"}}],"created":17,"model":"","system_fingerprint":"b",'
    '"object":"chat.completion","usage":{"completion_tokens":1,"prompt_tokens":2,"total_tokens":3},"id":"chatcmpl-",'
    '"timings":{"prompt_n":1,"prompt_ms":1.0,"prompt_per_token_ms":1.0,"prompt_per_second":1.0,"predicted_n":1,'
    '"predicted_ms":1.0,"predicted_per_token_ms":1.0,"predicted_per_second":1.0}}',
)


def bodies_of(ledger: Path, role: str, count: int) -> list[tuple[bytes, bytes]]:
    """Requests as they were sent and their replies, the first by key."""
    with Ledger(ledger) as opened:
        rows = opened.database.connection.execute(
            "SELECT request, response FROM calls WHERE role = ? AND status = 200 ORDER BY key LIMIT ?",
            (role, count),
        ).fetchall()
        return [(opened.bodies.unpack(request), opened.bodies.unpack(response)) for request, response in rows]


def answer_prompts() -> Iterator[bytes]:
    book = PromptBook()
    for kind in ("set", "yesno", "text", "mcq", "expr", "numeric"):
        choices = ("one", "two") if kind == "mcq" else ()
        item = Item("i", "", "A" if choices else "1", "", choices, kind)
        body = {"stream": False, "model": "", "seed": 8, "messages": book.answer(item)}
        yield json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def make(ledger: Path) -> bytes:
    """What is useful most often comes last: offsets to it are the shortest."""
    found = {role: bodies_of(ledger, role, 80) for role in ROLES}
    rewriter, judge, pool = (found[role] for role in ROLES)
    longest = max((request for request, _ in judge), key=len)
    content = b"".join(
        [
            *(reply.encode() for reply in REPLIES),
            max((request for request, _ in rewriter), key=len)[:LONGEST],
            longest,
            *answer_prompts(),
            *(reply for _, reply in (rewriter[0], judge[0], judge[-1])),
            *pool[0],
        ]
    )
    samples = [body for pairs in found.values() for pair in pairs for body in pair]
    raw = zstd.ZstdDict(content, is_raw=True)
    return bytes(zstd.finalize_dict(raw, samples, len(content) + TABLES, LEVEL).dict_content)


def measured(
    pack: Callable[[bytes], bytes], unpack: Callable[[bytes], bytes], bodies: Sequence[bytes]
) -> str:
    packed, times = [], []
    for _ in range(3):
        began = time.process_time()
        packed = [pack(body) for body in bodies]
        half = time.process_time()
        if [unpack(body) for body in packed] != list(bodies):
            raise ValueError("not the same bytes")
        times.append((half - began, time.process_time() - half))
    before, after = (sum(map(len, each)) for each in (bodies, packed))
    there, back = (1e6 * min(each[place] for each in times) / len(bodies) for place in (0, 1))
    return f"{after / len(bodies):.0f} B ({before / after:.1f}) {there:.0f}/{back:.0f} us"


def compare(ledger: Path) -> None:
    dictionary = dictionary_file(1).read_bytes()
    content = zstd.ZstdDict(dictionary)
    plain, preset = zstd.ZstdCompressor(level=LEVEL), zstd.ZstdCompressor(level=LEVEL, zstd_dict=content)
    end = zstd.ZstdCompressor.FLUSH_FRAME

    def deflate(level: int) -> Callable[[bytes], bytes]:
        def pack(body: bytes) -> bytes:
            packer = zlib.compressobj(level, zdict=dictionary[-32768:])
            return packer.compress(body) + packer.flush()

        return pack

    def inflate(body: bytes) -> bytes:
        return zlib.decompressobj(zdict=dictionary[-32768:]).decompress(body)

    ways: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
        "zlib 1": (lambda body: zlib.compress(body, 1), zlib.decompress),
        "zlib 1, dictionary": (deflate(1), inflate),
        "zlib 6, dictionary": (deflate(6), inflate),
        "zstd 3": (lambda body: plain.compress(body, end), zstd.decompress),
        "zstd 3, dictionary": (
            lambda body: preset.compress(body, end),
            lambda body: zstd.decompress(body, zstd_dict=content),
        ),
    }
    print("bytes (ratio), packing/unpacking")
    for role in ROLES:
        for place, what in enumerate(("requests", "replies")):
            bodies = [pair[place] for pair in bodies_of(ledger, role, 1500)]
            if bodies:
                print(
                    f"{role} {what}: {len(bodies)} of {sum(map(len, bodies)) / len(bodies):.0f} B on average"
                )
                for name, (pack, unpack) in ways.items():
                    print(f"  {name:20} {measured(pack, unpack, bodies)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("make", "compare"))
    parser.add_argument("ledger", type=Path)
    parser.add_argument("out", type=Path, nargs="?", help="File of a new dictionary.")
    options = parser.parse_args()
    if options.what == "compare":
        compare(options.ledger)
    elif options.out is None:
        parser.error("make needs OUT")
    else:
        options.out.write_bytes(make(options.ledger))


if __name__ == "__main__":
    main()
