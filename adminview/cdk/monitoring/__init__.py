"""What is looked at in a deployment: metrics, the alarms on them, and a dashboard."""
