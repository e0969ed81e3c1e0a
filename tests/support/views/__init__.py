"""A model for tests of the engine, apart from the app's: `tests.support.model` collects it."""
