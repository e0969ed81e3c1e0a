"""The local console: a server for its page and its API, and what they need of a deployment."""
