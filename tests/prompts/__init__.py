"""Tests of the prompt files and their rendering."""
