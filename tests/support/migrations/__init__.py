"""The migrations of the tests' model."""
