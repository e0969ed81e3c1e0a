"""The sync beside what people write instead of it: the same streams, the same endpoint, one run."""
