"""What is in a cloud, of every kind that we deploy or that AWS would make for us."""

from tests.support.e2e.cloud import Checkout

# A kind of thing, and where to find the names of all there are.
KINDS = {
    "alarm": ("cloudwatch", "describe_alarms", "MetricAlarms[].AlarmName"),
    "API": ("apigatewayv2", "get_apis", "Items[].ApiId"),
    "bucket": ("s3", "list_buckets", "Buckets[].Name"),
    "dashboard": ("cloudwatch", "list_dashboards", "DashboardEntries[].DashboardName"),
    "function": ("lambda", "list_functions", "Functions[].FunctionName"),
    "key": ("kms", "list_keys", "StaticCredentials[].KeyId"),
    "log group": ("logs", "describe_log_groups", "logGroups[].logGroupName"),
    "mapping": ("lambda", "list_event_source_mappings", "EventSourceMappings[].UUID"),
    "parameter": ("ssm", "describe_parameters", "Parameters[].Name"),
    "queue": ("sqs", "list_queues", "QueueUrls[]"),
    "role": ("iam", "list_roles", "Roles[].RoleName"),
    "rule": ("events", "list_rules", "Rules[].Name"),
    "state machine": ("stepfunctions", "list_state_machines", "stateMachines[].name"),
    "table": ("dynamodb", "list_tables", "TableNames[]"),
    "topic": ("sns", "list_topics", "Topics[].TopicArn"),
}
BOOTSTRAP = "cdk-"  # what `cdk bootstrap` makes has it in its name


def inventory(checkout: Checkout) -> dict[str, set[str]]:
    """List what is there by its kind, without what belongs to CDK itself."""
    inventories = {}
    for kind, (service, operation, names) in KINDS.items():
        pages = checkout.client(service).get_paginator(operation).paginate()
        inventories[kind] = {name for name in pages.search(names) if name and BOOTSTRAP not in name}
    return {kind: names for kind, names in inventories.items() if names}
