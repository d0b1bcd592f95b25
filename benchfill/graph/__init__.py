"""The state machine of a search: one file a node, the wiring in build.py."""

import os

# Read by langgraph at its import: checkpoints refuse what they could not read back.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
