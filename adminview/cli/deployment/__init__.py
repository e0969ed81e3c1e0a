"""Find and read what is deployed."""
