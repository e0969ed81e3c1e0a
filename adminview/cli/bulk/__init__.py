"""Bulk work, executed locally or in the state machine."""
