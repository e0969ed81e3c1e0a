"""Queries and PartiQL statements from the command line."""
