"""Queries through AdminView compared with the same queries of a boto3 client."""
