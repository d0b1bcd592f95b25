"""Readers of what users bring: response logs and item files."""
