"""Accepted items become part of a benchmark: in its own format, with a data card, a response log and their lineage."""
