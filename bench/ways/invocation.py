"""What Lambda tells a function about its invocation."""


class Invocation:
    """As much of it as anybody here looks at."""

    aws_request_id = "bench"
    function_name = "bench"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"

    def get_remaining_time_in_millis(self) -> int:
        """Say that there is more than enough time."""
        return 100_000
