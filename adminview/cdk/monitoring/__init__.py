"""Monitoring of a deployment: metrics, alarms and a dashboard."""
