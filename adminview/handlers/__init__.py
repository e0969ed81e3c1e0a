"""What each deployed function does; a handler in the app's `lambdas/` calls it."""
