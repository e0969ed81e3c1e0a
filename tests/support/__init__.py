"""What several tests share: fakes, in-memory tables, records, and a shop's items."""
