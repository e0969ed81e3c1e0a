"""The model as it was agreed on, and how another differs from it."""
