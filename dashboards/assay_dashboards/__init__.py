"""Turns a run's folder into pages and files that people and other tools read. Start: __main__.py."""
