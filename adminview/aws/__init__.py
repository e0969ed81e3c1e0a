"""All AWS calls of the Lambda functions."""
