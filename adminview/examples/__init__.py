"""Example apps that come with the library."""
