"""The one place for declarations: a file per source, its views, indexes and access patterns."""
