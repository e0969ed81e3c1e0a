"""Backfill and verification compared with a plain parallel scan, on DynamoDB Local."""
