"""A deployment of the shop that tests break and the doctor checks."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from adminview.aws.aws_calls import Aws
from adminview.aws.settings import Settings
from adminview.cli.commands.doctor import examine
from adminview.cli.deployment.deployment import Deployment as RealDeployment
from adminview.cli.doctor.finding import Finding
from adminview.local.tables import source_table, totals_table, view_table
from adminview.model import Registry
from adminview.model.delivery import TOTALS_DELIVERY
from tests.support.aws_descriptions import (
    ARN,
    GATEWAY,
    Response,
    caller,
    described,
    mapping_properties,
    statements,
    stream,
)
from tests.support.fakes import NO_WAIT, refusal
from tests.support.model import registry
from tests.support.readiness import completion_items, record_item

QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/111122223333/Letters"
QUEUE, VIEW = ARN.format("sqs", "Letters"), ARN.format("dynamodb", "table/AdminViewTable")
MACHINE = ARN.format("states", "stateMachine:Backfill")
TOPIC = ARN.format("sns", "Alarms")
REPLAYED = {"Id": "Target0", "Arn": ARN.format("lambda", "function:replay")}
ROLE = "arn:aws:iam::111122223333:role/sync-role"
QUEUE_SETTINGS = {"DelaySeconds": 30, "VisibilityTimeout": 360, "MessageRetentionPeriod": 1209600}
NOW = 1_800_000_000.0
TOTALS, SYNC, RECOVERY, API, WATCH = (
    f"AdminView-dev-{part}" for part in ("Totals", "Sync", "Recovery", "Api", "Watch")
)


@dataclass
class Deployment:
    """The responses of AWS about a deployment, by service."""

    stacks: dict[str, Response] = field(default_factory=dict)
    tables: dict[str, Response] = field(default_factory=dict)
    mappings: dict[str, Response] = field(default_factory=dict)
    functions: dict[str, Response] = field(default_factory=dict)
    concurrency: dict[str, int] = field(default_factory=dict)
    queues: dict[str, Response] = field(default_factory=dict)
    rules: dict[str, Response] = field(default_factory=dict)
    machines: dict[str, Response] = field(default_factory=dict)
    targets: dict[str, list[Response]] = field(default_factory=dict)  # by rule
    callers: dict[str, list[Response]] = field(default_factory=dict)  # statements, by function
    topics: dict[str, Response] = field(default_factory=dict)
    alarms: dict[str, Response] = field(default_factory=dict)
    roles: dict[str, Response] = field(default_factory=dict)
    expiry: dict[str, Response] = field(default_factory=dict)  # by table: its TTL
    attached: list[str] = field(default_factory=list)
    managed: dict[str, Response] = field(default_factory=dict)  # policies, by ARN
    denied: dict[str, Response] = field(default_factory=dict)  # by action
    progress: list[Response] = field(
        default_factory=lambda: [record_item(registry()), *completion_items(registry())]
    )
    refused: dict[str, Exception] = field(default_factory=dict)  # by the name of the call
    requests: list[str] = field(default_factory=list)

    def client(self, _: str) -> "Client":
        """Return the client of any service."""
        return Client(self)

    def stack(self, name: str, **resources: tuple[str, str, Response]) -> Response:
        """Add a stack with resources: kind, name and properties."""
        template: Response = {
            "Resources": {
                id_: {"Type": kind, "Properties": properties}
                for id_, (kind, _, properties) in resources.items()
            }
        }
        listed = [
            {"LogicalResourceId": id_, "ResourceType": kind, "PhysicalResourceId": physical_id}
            for id_, (kind, physical_id, _) in resources.items()
        ]
        id_ = f"arn:aws:cloudformation:eu-west-1:111122223333:stack/{name}/1"
        description = {"StackId": id_, "StackStatus": "UPDATE_COMPLETE", "Outputs": []}
        self.stacks[name] = {"description": description, "template": template, "resources": listed}
        return self.stacks[name]

    def output(self, stack: str, name: str, value: str) -> None:
        """Set an output of a stack."""
        outputs = self.stacks[stack]["description"]["Outputs"]
        outputs[:] = [output for output in outputs if output["OutputKey"] != name]
        outputs.append({"OutputKey": name, "OutputValue": value})

    def policy(self) -> list[Response]:
        """Return the statements of the sync's role, to be changed."""
        statements: list[Response] = self.roles["sync-role"]["LeastPrivilege"]["Statement"]
        return statements

    def deployment(self) -> RealDeployment:
        """Return the deployment as a command finds it."""
        return RealDeployment(self.aws(), "dev", "")

    def aws(self) -> Aws:
        """Return a caller of AWS that does not retry."""
        return Aws(self.client, timeout=0.2, backoff=NO_WAIT)

    def examine(self) -> dict[str, Finding]:
        """Run the doctor and return its findings by name."""
        findings = examine(self.deployment(), registry(), ["orders-delivery-date"], lambda: NOW)
        assert len({finding.name for finding in findings}) == len(findings)
        return {finding.name: finding for finding in findings}


@dataclass
class Client:
    """The calls that the doctor makes, of all services."""

    here: Deployment

    def __getattribute__(self, name: str) -> Any:
        call = object.__getattribute__(self, name)
        if name == "here" or not callable(call):
            return call
        self.here.requests.append(name)
        if name in self.here.refused:
            return _raiser(self.here.refused[name])
        return call

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803 - boto3's, as below
        return {"Stacks": [_known(self.here.stacks, StackName, "ValidationError")["description"]]}

    def get_template(self, StackName: str) -> Any:  # noqa: N803
        return {"TemplateBody": self.here.stacks[StackName]["template"]}

    def list_stack_resources(self, StackName: str, NextToken: str = "0") -> Any:  # noqa: N803
        at, resources = int(NextToken), self.here.stacks[StackName]["resources"]
        more = {"NextToken": str(at + 2)} if at + 2 < len(resources) else {}
        return {"StackResourceSummaries": resources[at : at + 2], **more}

    def describe_table(self, TableName: str) -> Any:  # noqa: N803
        return {"Table": _known(self.here.tables, TableName)}

    def describe_time_to_live(self, TableName: str) -> Any:  # noqa: N803
        return {"TimeToLiveDescription": self.here.expiry[TableName]}

    def get_item(self, Key: Any, **_: Any) -> Any:  # noqa: N803
        items = [item for item in self.here.progress if Key.items() <= item.items()]
        return {"Item": items[0]} if items else {}

    def query(self, ExpressionAttributeValues: Any, **_: Any) -> Any:  # noqa: N803
        run = ExpressionAttributeValues[":pk"]["S"]
        return {"Items": [item for item in self.here.progress if item["PK"]["S"] == run]}

    def get_event_source_mapping(self, UUID: str) -> Any:  # noqa: N803
        return _known(self.here.mappings, UUID)

    def get_function_configuration(self, FunctionName: str) -> Any:  # noqa: N803
        return _known(self.here.functions, FunctionName)

    def get_function_concurrency(self, FunctionName: str) -> Any:  # noqa: N803
        limit = self.here.concurrency.get(FunctionName)
        return {} if limit is None else {"ReservedConcurrentExecutions": limit}

    def get_queue_attributes(self, QueueUrl: str, AttributeNames: list[str]) -> Any:  # noqa: N803
        attributes = _known(self.here.queues, QueueUrl, "AWS.SimpleQueueService.NonExistentQueue")
        return {
            "Attributes": {name: attributes[name] for name in AttributeNames if name in attributes}
        }

    def describe_rule(self, Name: str) -> Any:  # noqa: N803
        return _known(self.here.rules, Name)

    def list_targets_by_rule(self, Rule: str) -> Any:  # noqa: N803
        return {"Targets": self.here.targets[Rule]}

    def get_policy(self, FunctionName: str = "", PolicyArn: str = "") -> Any:  # noqa: N803
        if PolicyArn:  # IAM's call of this name
            return {"Policy": {"DefaultVersionId": f"v7 of {PolicyArn}"}}
        statements = self.here.callers.get(FunctionName)
        if not statements:
            raise refusal("ResourceNotFoundException")
        return {"Policy": dumps({"Statement": statements})}

    def get_topic_attributes(self, TopicArn: str) -> Any:  # noqa: N803
        return {"Attributes": _known(self.here.topics, TopicArn, "NotFound")}

    def describe_state_machine(self, stateMachineArn: str) -> Any:  # noqa: N803
        return _known(self.here.machines, stateMachineArn, "StateMachineDoesNotExist")

    def describe_alarms(self, AlarmNames: list[str], AlarmTypes: list[str]) -> Any:  # noqa: N803
        assert AlarmTypes == ["MetricAlarm", "CompositeAlarm"]
        alarms = [self.here.alarms[name] for name in AlarmNames if name in self.here.alarms]
        more = {"NextToken": "next"} if alarms[50:] else {}
        return {"MetricAlarms": alarms[:50], **more}  # a page has 50, unless a call says otherwise

    def get_role(self, RoleName: str) -> Any:  # noqa: N803
        _known(self.here.roles, RoleName, "NoSuchEntity")
        return {"Role": {"Arn": ROLE.replace("sync-role", RoleName)}}

    def list_role_policies(self, RoleName: str) -> Any:  # noqa: N803
        return {"PolicyNames": [*self.here.roles[RoleName]]}

    def get_role_policy(self, RoleName: str, PolicyName: str) -> Any:  # noqa: N803
        return {"PolicyDocument": self.here.roles[RoleName][PolicyName]}

    def list_attached_role_policies(self, RoleName: str) -> Any:  # noqa: N803
        assert RoleName in self.here.roles
        return {"AttachedPolicies": [{"PolicyArn": arn} for arn in self.here.attached]}

    def get_policy_version(self, PolicyArn: str, VersionId: str) -> Any:  # noqa: N803
        assert VersionId == f"v7 of {PolicyArn}", "the default version counts"
        return {"PolicyVersion": {"Document": _known(self.here.managed, PolicyArn)}}

    def simulate_principal_policy(
        self,
        PolicySourceArn: str,  # noqa: N803
        ActionNames: list[str],  # noqa: N803
        ResourceArns: list[str],  # noqa: N803
    ) -> Any:
        assert PolicySourceArn.rpartition("/")[2] in self.here.roles
        assert len(ResourceArns) == 1
        allowed = {"EvalDecision": "allowed"}
        return {
            "EvaluationResults": [
                {"EvalActionName": action, **self.here.denied.get(action, allowed)}
                for action in ActionNames
            ]
        }


def sound(queue_url: str = QUEUE_URL) -> Deployment:
    """Deploy the shop without any fault."""
    queue = ARN.format("sqs", queue_url.rpartition("/")[2])
    here, model = Deployment(), registry()
    names = {source.name: source.name for source in model.sources}
    told_all = {
        "ADMINVIEW_MODEL": model.fingerprint,
        "ADMINVIEW_DEAD_LETTER_QUEUE_URL": {"Ref": "Letters01234567"},
        "ADMINVIEW_WHERE": {"Fn::Sub": "known only to CloudFormation"},
    }
    variables = {"Environment": {"Variables": told_all}}
    sync = {**variables, "Role": {"Fn::GetAtt": ["Role01234567", "Arn"]}}
    sources = {name: source_table(model.source(name), name) for name in names}
    view = view_table(model, "AdminViewTable")
    here.tables = {
        name: described(table) for name, table in {**sources, "AdminViewTable": view}.items()
    }
    here.stack(
        "AdminView-dev-Sources",
        **{name: ("AWS::DynamoDB::GlobalTable", name, table) for name, table in sources.items()},
    )
    here.stack("AdminView-dev-View", View=("AWS::DynamoDB::GlobalTable", "AdminViewTable", view))
    here.output("AdminView-dev-View", "ViewArn", VIEW)
    destination = {"OnFailure": {"Destination": {"Fn::GetAtt": ["Letters01234567", "Arn"]}}}
    follow = {
        **mapping_properties(),
        "FunctionName": {"Ref": "SyncFunction01234567"},
        "EventSourceArn": {"Fn::ImportValue": "AdminView-dev-Sources:Stream"},
        "DestinationConfig": destination,
    }
    policies = [{"PolicyName": "LeastPrivilege", "PolicyDocument": {"Statement": statements()}}]
    stack = here.stack(
        SYNC,
        Letters01234567=("AWS::SQS::Queue", queue_url, QUEUE_SETTINGS),
        Role01234567=("AWS::IAM::Role", "sync-role", {"Policies": policies}),
        SyncFunction01234567=("AWS::Lambda::Function", "sync", sync),
        **{
            f"Follow{name}": ("AWS::Lambda::EventSourceMapping", f"id-{name}", follow)
            for name in names
        },
    )
    describe(stack, "SyncFunction01234567", model)
    settings = Settings("AdminViewTable", queue_url, names, model.fingerprint)
    here.output(SYNC, "Settings", dumps(settings.to_env()))
    here.output(SYNC, "Mappings", dumps({name: f"id-{name}" for name in names}))
    here.queues[queue_url] = {name: str(value) for name, value in QUEUE_SETTINGS.items()}
    settled = {**told_all, "ADMINVIEW_DEAD_LETTER_QUEUE_URL": queue_url, "ADMINVIEW_WHERE": "here"}
    function: Response = {"State": "Active", "LastUpdateStatus": "Successful", "Role": ROLE}
    function["Environment"] = {"Variables": settled}
    here.functions = {
        name: deepcopy(function) | {"FunctionArn": ARN.format("lambda", f"function:{name}")}
        for name in ("sync", "api")
    }
    here.roles["sync-role"] = {"LeastPrivilege": {"Statement": statements(VIEW, queue)}}
    here.mappings = {f"id-{name}": _mapping(name, queue) for name in names}
    _add_the_rest(here, {**variables, "Role": ROLE})
    return here


def with_totals() -> Deployment:
    """Deploy the shop with totals, with nothing wrong."""
    here = sound()
    specification = {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    view = here.stacks["AdminView-dev-View"]["template"]["Resources"]["View"]["Properties"]
    view["StreamSpecification"] = specification
    here.tables["AdminViewTable"] |= {
        "StreamSpecification": {**specification, "StreamEnabled": True},
        "LatestStreamArn": stream("AdminViewTable"),
    }
    here.output("AdminView-dev-View", "Stream", stream("AdminViewTable"))
    requested = totals_table("AdminViewTotals")
    here.tables["AdminViewTotals"] = described(requested)
    here.expiry["AdminViewTotals"] = {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    follow = {
        **mapping_properties(TOTALS_DELIVERY),
        "FunctionName": {"Ref": "TotalsFunction01234567"},
        "EventSourceArn": {"Fn::ImportValue": "AdminView-dev-View:Stream"},
    }
    update = {"Effect": "Allow", "Action": "dynamodb:UpdateItem"}
    policy = {"Statement": [{**update, "Resource": {"Fn::GetAtt": ["Totals01234567", "Arn"]}}]}
    role = {"Policies": [{"PolicyName": "LeastPrivilege", "PolicyDocument": policy}]}
    here.stack(
        TOTALS,
        Totals01234567=("AWS::DynamoDB::GlobalTable", "AdminViewTotals", requested),
        TotalsRole01234567=("AWS::IAM::Role", "totals-role", role),
        TotalsFunction01234567=(
            "AWS::Lambda::Function",
            "totals",
            {"Role": {"Fn::GetAtt": ["TotalsRole01234567", "Arn"]}},
        ),
        FollowView=("AWS::Lambda::EventSourceMapping", "id-totals", follow),
    )
    here.functions["totals"] = {
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "Role": ROLE.replace("sync", "totals"),
        "FunctionArn": ARN.format("lambda", "function:totals"),
    }
    table = ARN.format("dynamodb", "table/AdminViewTotals")
    here.roles["totals-role"] = {"LeastPrivilege": {"Statement": [{**update, "Resource": table}]}}
    here.mappings["id-totals"] = {
        **mapping_properties(TOTALS_DELIVERY),
        "UUID": "id-totals",
        "State": "Enabled",
        "LastProcessingResult": "OK",
        "EventSourceArn": stream("AdminViewTable"),
        "FunctionArn": ARN.format("lambda", "function:totals"),
    }
    return here


def describe(stack: Response, function: str, model: Registry) -> None:
    """Make a function of a stack carry the model it was deployed with."""
    metadata = {"AdminViewModel": dumps(model.description())}
    stack["template"]["Resources"][function]["Metadata"] = metadata


def _add_the_rest(here: Deployment, function: Response) -> None:
    here.stack(
        RECOVERY,
        ReplayRule01234567=("AWS::Events::Rule", "replay-rule", {"Targets": [REPLAYED]}),
        Machine01234567=("AWS::StepFunctions::StateMachine", MACHINE, {}),
        Progress=("AWS::DynamoDB::GlobalTable", "AdminViewTableProgress", {}),
    )
    here.rules["replay-rule"] = {"State": "ENABLED", "ScheduleExpression": "rate(1 hour)"}
    here.targets["replay-rule"] = [REPLAYED]
    here.machines[MACHINE] = {"status": "ACTIVE"}
    source = {"Fn::Join": ["", ["arn:aws:execute-api:", {"Ref": "AWS::Region"}, ":id/*"]]}
    by_arn = {"Fn::GetAtt": ["ApiFunction", "Arn"]}
    permission = {"FunctionName": by_arn, "Principal": GATEWAY, "SourceArn": source}
    api = here.stack(
        API,
        ApiFunction=("AWS::Lambda::Function", "api", function),
        Permission=("AWS::Lambda::Permission", "statement", permission),
    )
    here.callers["api"] = [caller("arn:aws:execute-api:eu-west-1:id/*")]
    describe(api, "ApiFunction", registry())
    patterns = {"model": registry().fingerprint, "pending": {}}
    here.output(API, "AccessPatterns", dumps(patterns))
    here.stack(
        WATCH,
        Age=("AWS::CloudWatch::Alarm", "age", {}),
        Alarms01234567=("AWS::SNS::Topic", TOPIC, {}),
    )
    here.topics[TOPIC] = {"SubscriptionsConfirmed": "1"}
    here.alarms["age"] = {"AlarmName": "age", "StateValue": "OK", "AlarmDescription": "Runbook#age"}


def _mapping(source: str, queue: str) -> Response:
    return {
        **mapping_properties(),
        "UUID": f"id-{source}",
        "State": "Enabled",
        "LastProcessingResult": "No records processed",
        "EventSourceArn": stream(source),
        "FunctionArn": ARN.format("lambda", "function:sync"),
        "DestinationConfig": {"OnFailure": {"Destination": queue}},
    }


def _known(
    resources: Mapping[str, Response], name: str, absent: str = "ResourceNotFoundException"
) -> Response:
    if name not in resources:
        raise refusal(absent)
    return resources[name]


def _raiser(error: Exception) -> Callable[..., Any]:
    def call(**_: Any) -> Any:
        raise error

    return call
