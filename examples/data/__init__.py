"""The items of the examples, and queries with the expected rows."""
