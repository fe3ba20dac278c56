"""The calls of `ReMe`, one module per kind."""
