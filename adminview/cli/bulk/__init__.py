"""Bulk work from this machine, or in the state machine."""
