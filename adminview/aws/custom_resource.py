"""Answers CloudFormation, which invokes a function as a custom resource and waits for its answer.

The answer is put to a URL of S3, which is in the event. Without one, the deployment would hang.
"""

from collections.abc import Mapping
from json import dumps
from typing import Any, Final
from urllib.request import Request, urlopen

REQUEST_TYPE: Final = "RequestType"
DELETE: Final = "Delete"
SECONDS: Final = 10.0


def succeed(event: Mapping[str, Any], id_: str) -> None:
    """Answer that the resource with this id is as requested."""
    url = str(event["ResponseURL"])
    copied = ("StackId", "RequestId", "LogicalResourceId")
    answer = {
        "Status": "SUCCESS",
        "PhysicalResourceId": event.get("PhysicalResourceId", id_),
        **{name: event[name] for name in copied},
    }
    # Without a content type: it is not part of what the URL signs.
    request = Request(  # noqa: S310 - CloudFormation made the URL
        url, dumps(answer).encode(), {"Content-Type": ""}, method="PUT"
    )
    with urlopen(request, timeout=SECONDS):  # noqa: S310 - see above
        pass
