"""The model lock, and the difference between two models."""
