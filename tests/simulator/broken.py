"""The errors that end a history."""


class BrokenLawError(BaseException):
    """A history broke a law. Only the runner of histories may catch it."""


class SurpriseError(BaseException):
    """The code under test raised an unexpected error."""
