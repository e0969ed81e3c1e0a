"""The declarations: a file per source with its views, indexes and access patterns."""
