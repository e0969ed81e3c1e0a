"""Checks that run on a deployment, and settle there what cannot be settled offline."""
