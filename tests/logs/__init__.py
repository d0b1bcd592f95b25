"""Tests of the readers of response logs and item files."""
