"""The direct HTTP client of DynamoDB."""
