"""Constructs that stacks are composed of."""
