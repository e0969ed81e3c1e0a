"""Migrations of source tables, a file each: what old items lack, and how to find it out."""
