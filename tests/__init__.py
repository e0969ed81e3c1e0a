"""The tests, by cost: unit, integration, infra."""
