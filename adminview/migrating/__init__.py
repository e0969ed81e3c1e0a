"""Bring old items of a source table to what its service writes today, without stopping it."""
