"""Queries and statements that were typed."""
