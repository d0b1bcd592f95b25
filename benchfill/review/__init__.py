"""Human double-blind review: packets, the local page, decisions, agreement, and what becomes of an item."""
