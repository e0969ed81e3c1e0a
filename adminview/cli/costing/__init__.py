"""Estimate the cost of a workload: `load` describes it, `work` sizes it, `usage` prices it."""
