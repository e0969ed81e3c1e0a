"""The routes that only operators get: where a row comes from, dead letters, repairs, status, model.

No function of a deployment imports them: the deployed API is read-only. `router` dispatches
requests, and each other module adds one group of routes, which a server may leave out.
"""
