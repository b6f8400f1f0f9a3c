"""What is raised when a network cannot be solved as described."""


class NetworkError(ValueError):
    """A network that cannot be solved as described; the message says which element and what to change."""


class RouteError(NetworkError):
    """A route that cannot be followed; the message names the class and the step."""


class UnsupportedError(Exception):
    """An exact method does not apply to a network; the text is the reason."""
