"""Totals: the totals function compared with one ADD per record and one transaction per record."""
