"""A state machine that works through tables, many segments at once."""

import json
from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from adminview.cdk.constructs.log_group import LogGroup
from adminview.cdk.constructs.suppress_nag import suppress_nag
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.cdk.options.stage import Stage
from adminview.model.errors import SegmentTakenError, ServiceError

# Lambda itself was in trouble, or the function ended without an answer. Nothing is lost by that:
# whoever is called next puts right what was in hand.
LAMBDA_TROUBLE: Final = (
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.TooManyRequestsException",
    "Lambda.Unknown",
    "Sandbox.Timedout",
    "Runtime.ExitError",
)
TROUBLE: Final = (*LAMBDA_TROUBLE, ServiceError.__name__)
TAKEN: Final = (SegmentTakenError.__name__,)
FIRST_PAUSE, LONGEST_PAUSE, TRIES_IN_TROUBLE = Duration.seconds(5), Duration.minutes(2), 8
# Longer together than a worker that was killed holds on to its segment, or one of a stopped run
# goes on with it: all the time that Lambda gives.
TAKEN_PAUSE, TRIES_WHILE_TAKEN = Duration.minutes(1), 20
MERGED: Final = "States.JsonMerge(States.JsonMerge($.default, $.given, false), $.fixed, false)"

UNSCOPED: Final = (
    "Step Functions hands its log over by CloudWatch's log deliveries, and where a stage traces, "
    "sends traces to X-Ray: neither knows resources."
)
UNNAMED: Final = "Executions get their names when they begin. All of these are of this machine."
UNTRACED: Final = (
    "Functions and machines trace where the stage says so, together (infra/stages.py says why none "
    "does by itself). Step Functions keeps the whole history of an execution for 90 days."
)


class SegmentMachine(Construct):
    """Begin lists the segments, and says how many at once; Work is repeated until each is done.

    The input is what *function* is asked to begin with: what is in *default* may be said otherwise,
    and what is in *fixed* may not. The output is what the function said last of each segment. A
    segment that fails fails the execution: it is not done, and a redrive or the next execution
    goes on where it is. How many items of a run may fail is the function's to say.

    In JSONPath, for the sake of the local cloud: it reads no JSONata in a distributed map.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        function: lambda_.IFunction,
        default: Mapping[str, Any],
        fixed: Mapping[str, Any],
        comment: str,
        options: DeploymentOptions,
    ) -> None:
        super().__init__(scope, id_)
        self.function = function
        merge = sfn.Pass(
            self,
            "Merge",
            state_name="Merge",
            parameters={
                "default": dict(default),
                "given": sfn.JsonPath.object_at("$"),
                "fixed": dict(fixed),
            },
        )
        begin = self._call("Begin", MERGED, output_path="$.Payload")
        log_group = LogGroup(self, "Logs", options=options)
        self.machine = sfn.StateMachine(
            self,
            "Machine",
            comment=comment,
            definition_body=sfn.DefinitionBody.from_chainable(
                merge.next(begin).next(self._each_segment())
            ),
            logs=sfn.LogOptions(
                destination=log_group, level=sfn.LogLevel.ALL, include_execution_data=False
            ),
            tracing_enabled=options.stage.tracing,
        )
        self._acknowledge(options.stage)

    def _acknowledge(self, stage: Stage) -> None:
        stack, machine = Stack.of(self), self.machine
        if not stage.tracing:
            suppress_nag(machine, "SF2", UNTRACED)
        suppress_nag(machine.role.node.find_child("DefaultPolicy"), "IAM5[Resource::*]", UNSCOPED)
        arn = stack.split_arn(machine.state_machine_arn, ArnFormat.COLON_RESOURCE_NAME)
        name = json.dumps(stack.resolve(arn.resource_name), separators=(",", ":"))
        executions = f"arn:<AWS::Partition>:states:<AWS::Region>:<AWS::AccountId>:execution:{name}"
        policy = machine.node.find_child("DistributedMapPolicy")
        suppress_nag(policy, f"IAM5[Resource::{executions}:*]", UNNAMED)
        suppress_nag(policy, f"IAM5[Resource::{executions}/*:*]", UNNAMED)

    def _each_segment(self) -> sfn.DistributedMap:
        """Work on as many segments at once as Begin said, each in an execution of its own."""
        work = self._call("Work", "$.item", result_path="$.answer")
        done = sfn.Succeed(self, "Done", state_name="Done", output_path="$.answer.Payload")
        is_done = sfn.Condition.boolean_equals("$.answer.Payload.done", value=True)
        letter_filter = sfn.Choice(self, "IsDone", state_name="Done?")
        each = sfn.DistributedMap(
            self,
            "EachSegment",
            state_name="Each segment",
            items_path="$.segments",
            item_selector={"item": sfn.JsonPath.object_at("$$.Map.Item.Value")},
            max_concurrency_path="$.concurrency",
            # An express one would end after five minutes.
            map_execution_type=sfn.StateMachineType.STANDARD,
        )
        each.item_processor(work.next(letter_filter.when(is_done, done).otherwise(work)))
        return each

    def _call(
        self,
        name: str,
        payload: str,
        *,
        output_path: str | None = None,
        result_path: str | None = None,
    ) -> tasks.LambdaInvoke:
        task = tasks.LambdaInvoke(
            self,
            name,
            state_name=name,
            lambda_function=self.function,
            payload=sfn.TaskInput.from_json_path_at(payload),
            output_path=output_path,
            result_path=result_path,
            retry_on_service_exceptions=False,  # said below, with our own
        )
        task.add_retry(
            errors=[*TROUBLE],
            interval=FIRST_PAUSE,
            max_delay=LONGEST_PAUSE,
            max_attempts=TRIES_IN_TROUBLE,
            jitter_strategy=sfn.JitterType.FULL,
        )
        task.add_retry(
            errors=[*TAKEN],
            interval=TAKEN_PAUSE,
            backoff_rate=1,
            max_attempts=TRIES_WHILE_TAKEN,
        )
        return task
