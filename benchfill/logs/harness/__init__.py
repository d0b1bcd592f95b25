"""Readers of evaluation harness logs, one small module a format, behind the `LogFormat` protocol."""
