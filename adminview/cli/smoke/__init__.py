"""Checks of what cannot be checked offline. They run on a deployment."""
