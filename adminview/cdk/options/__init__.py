"""The options of a deployment, and how they are read from cdk.json."""
