"""Questions asked through AdminView beside the same questions asked of a plain boto3 client."""
