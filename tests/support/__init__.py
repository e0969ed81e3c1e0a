"""Shared by several tests: fakes, in-memory tables, records, and items of a shop."""
