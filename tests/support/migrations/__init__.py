"""Migrations of the tests' model."""
