"""Printed and JSON output of the commands."""
