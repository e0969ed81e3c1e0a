"""One function, asked again and again."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct


class ScheduledInvocation(Construct):
    """A rule that invokes *function* at a steady rate, always with the same event.

    EventBridge retries what it cannot deliver. There is no queue for what it gives up on: nothing
    is lost with it, for the next event asks for the same again.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        function: lambda_.IFunction,
        every: Duration,
        event: Mapping[str, Any],
    ) -> None:
        super().__init__(scope, id_)
        self.function = function
        # Of its own accord the target adds one thing: leave for this rule to invoke the function.
        self.rule = events.Rule(
            self,
            "Rule",
            schedule=events.Schedule.rate(every),
            targets=[
                targets.LambdaFunction(
                    function, event=events.RuleTargetInput.from_object(dict(event))
                )
            ],
        )
