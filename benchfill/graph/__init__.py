"""The state machine of a search: one file a node, the wiring in build.py."""
