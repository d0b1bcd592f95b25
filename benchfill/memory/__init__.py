"""SQLite: the pool of items and difficulties, attempts, runs, the ledger of calls, exports."""
