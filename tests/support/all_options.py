"""A deployment with all that can be asked for, as the context says it."""

from typing import Any

KEY_ARN = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"
STREAMS_ENDPOINT = "https://vpce-1a2b-5e6f.streams.dynamodb.eu-west-1.vpce.amazonaws.com"
VPC = {
    "subnetIds": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
    "securityGroupIds": ["sg-0123456789abcdef0"],
}
BUDGETS = {
    "readUnits": 500,
    "writeUnits": 0.5,
    "syncConcurrency": 50,
    "syncParallelization": 4,
}
TAGS = {"team": "shop"}
ALARMS = {"email": "ops@example.com"}
EVERYTHING: dict[str, Any] = {
    "stage": "prod",
    "alarms": ALARMS,
    "customerKeyArn": KEY_ARN,
    "budgets": BUDGETS,
    "tracing": "true",
    "vpc": VPC | {"streamsEndpoint": STREAMS_ENDPOINT},
    "tags": TAGS,
}
