"""Check a deployment: `fetch_*` functions call AWS, `evaluate_*` functions are pure."""
