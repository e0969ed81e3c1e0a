"""What is deployed, found and read."""
