"""What a load takes, by arithmetic: `load` describes it, `work` counts it, `usage` prices it."""
