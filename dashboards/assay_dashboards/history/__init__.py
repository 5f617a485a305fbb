"""Latencies of many runs, kept in a database, and what changed in them. Start: __main__.py."""
