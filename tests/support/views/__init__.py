"""A model for tests of the engine, separate from the app's: `tests.support.model` collects it."""
