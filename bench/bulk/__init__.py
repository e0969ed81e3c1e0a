"""Backfill and verification beside a plain parallel scan, on AWS's own engine."""
