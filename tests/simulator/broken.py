"""How a history ends that breaks a law."""


class BrokenLawError(BaseException):
    """A history broke a law. Nobody may catch it but the one who runs it."""


class SurpriseError(BaseException):
    """The code under test raised what it never should."""
