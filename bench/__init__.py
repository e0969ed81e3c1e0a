"""The sync compared with other implementations: the same streams, the same endpoint, one run."""
