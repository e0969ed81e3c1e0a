"""Checks of a model before it is deployed: its declarations, its imports, and its sample items."""
