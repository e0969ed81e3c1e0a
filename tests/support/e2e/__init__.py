"""Helpers of the end-to-end tests: a local cloud, and the deployed app on it."""
