"""A state machine that processes tables, many segments at once."""

import json
from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from adminview.cdk.constructs.python_function import LogGroup
from adminview.cdk.constructs.suppress_nag import suppress_nag
from adminview.cdk.options.deployment import DeploymentOptions
from adminview.cdk.options.stage import Stage
from adminview.model.errors import SegmentTakenError, ServiceError

# Lambda failed, or the function ended without a response. Nothing is lost: the next invocation
# recovers what was in progress.
LAMBDA_ERRORS: Final = (
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.TooManyRequestsException",
    "Lambda.Unknown",
    "Sandbox.Timedout",
    "Runtime.ExitError",
)
TRANSIENT: Final = (*LAMBDA_ERRORS, ServiceError.__name__)
TAKEN: Final = (SegmentTakenError.__name__,)
FIRST_PAUSE, MAX_PAUSE, TRANSIENT_RETRIES = Duration.seconds(5), Duration.minutes(2), 8
# Together longer than the lease of a killed worker, and than a worker of a stopped run continues:
# at most Lambda's timeout.
TAKEN_PAUSE, TAKEN_RETRIES = Duration.minutes(1), 20
MERGED: Final = "States.JsonMerge(States.JsonMerge($.default, $.input, false), $.fixed, false)"

UNSCOPED: Final = (
    "Step Functions writes its log through CloudWatch's log deliveries, and sends traces to X-Ray "
    "if the stage has tracing: neither supports resources."
)
UNNAMED: Final = "Executions are named when they begin. All of these belong to this state machine."
UNTRACED: Final = (
    "The stage switches tracing of functions and state machines on together "
    "(adminview/cdk/options/stage.py gives the reason for off). Step Functions keeps the history "
    "of an execution for 90 days."
)


class SegmentMachine(Construct):
    """Begin lists the segments and the concurrency; Work is repeated until each segment is done.

    The input overrides *default* but not *fixed*, and the result is the event of the first
    invocation of *function*. The output is what the function returns to Finish: segments have no
    output, because Step Functions limits that of all segments to 256 KB. A failed segment fails the
    execution; a redrive or the next execution continues where it stopped. The function decides how
    many items of a run may fail. If Begin returns an event as `then`, the
    machine ends with another Begin of that event, after `wait` seconds if it returns these too.

    Written in JSONPath: the local cloud supports no JSONata in a distributed map.
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
                "input": sfn.JsonPath.object_at("$"),
                "fixed": dict(fixed),
            },
        )
        begin = self._call("Begin", MERGED, output_path="$.Payload")
        finish = self._call("Finish", "$.finish", result_path="$.finished")
        again = sfn.Pass(
            self,
            "Again",
            state_name="Again",
            parameters={
                "default": {},
                "input": sfn.JsonPath.object_at("$.then"),
                "fixed": {},
            },
        ).next(begin)
        end = sfn.Succeed(self, "End", state_name="End", output_path="$.finished.Payload")
        pause = sfn.Wait(
            self, "Pause", state_name="Pause", time=sfn.WaitTime.seconds_path("$.wait")
        ).next(again)
        follows = (
            sfn.Choice(self, "Follows", state_name="Then?")
            .when(sfn.Condition.is_present("$.wait"), pause)
            .when(sfn.Condition.is_present("$.then"), again)
        )
        log_group = LogGroup(self, "Logs", options=options, delivered=f"states/{id_}")
        self.machine = sfn.StateMachine(
            self,
            "Machine",
            comment=comment,
            definition_body=sfn.DefinitionBody.from_chainable(
                merge.next(begin)
                .next(self._each_segment())
                .next(finish)
                .next(follows.otherwise(end))
            ),
            logs=sfn.LogOptions(
                destination=log_group, level=sfn.LogLevel.ALL, include_execution_data=False
            ),
            tracing_enabled=options.stage.tracing,
        )
        self._suppress_nag(options.stage)

    def _suppress_nag(self, stage: Stage) -> None:
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
        """Process each segment in an execution of its own, with the concurrency of Begin."""
        work = self._call("Work", "$.item", result_path="$.result")
        done = sfn.Succeed(self, "Done", state_name="Done", output_path=sfn.JsonPath.DISCARD)
        is_done = sfn.Condition.boolean_equals("$.result.Payload.done", value=True)
        choice = sfn.Choice(self, "IsDone", state_name="Done?")
        each = sfn.DistributedMap(
            self,
            "EachSegment",
            state_name="Each segment",
            items_path="$.segments",
            item_selector={"item": sfn.JsonPath.object_at("$$.Map.Item.Value")},
            max_concurrency_path="$.concurrency",
            result_path=sfn.JsonPath.DISCARD,
            # An express execution ends after five minutes.
            map_execution_type=sfn.StateMachineType.STANDARD,
        )
        each.item_processor(work.next(choice.when(is_done, done).otherwise(work)))
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
            retry_on_service_exceptions=False,  # the retries below include them
        )
        task.add_retry(
            errors=[*TRANSIENT],
            interval=FIRST_PAUSE,
            max_delay=MAX_PAUSE,
            max_attempts=TRANSIENT_RETRIES,
            jitter_strategy=sfn.JitterType.FULL,
        )
        task.add_retry(
            errors=[*TAKEN],
            interval=TAKEN_PAUSE,
            backoff_rate=1,
            max_attempts=TAKEN_RETRIES,
        )
        return task
