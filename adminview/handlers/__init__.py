"""The code of each deployed function, called by a handler in the app's `lambdas/`."""
