"""The context object that Lambda passes to a handler."""


class BenchContext:
    """The attributes of the context that the contenders use."""

    aws_request_id = "bench"
    function_name = "bench"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:bench"

    def get_remaining_time_in_millis(self) -> int:
        return 100_000
