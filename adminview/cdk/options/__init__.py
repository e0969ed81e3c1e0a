"""What two deployments of the same views may differ in, and how cdk.json states it."""
