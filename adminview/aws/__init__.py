"""The only modules that call AWS."""
