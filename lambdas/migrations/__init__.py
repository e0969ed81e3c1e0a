"""Migrations of source tables, a file each: attributes that old items lack, and their values."""
