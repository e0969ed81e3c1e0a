"""The model that is deployed, as the template of a stack tells it."""

import os

import boto3

from adminview.aws.settings import stack_name
from adminview.cli.deployment.find import STAGE
from adminview.cli.deployment.stacks import read_stack
from adminview.cli.endpoints import check_endpoints
from adminview.cli.planning.lock import checked
from adminview.cli.planning.model_diff import Description
from adminview.model.errors import SettingsError


def deployed_description(stage: str | None, prefix: str) -> Description | None:
    """Read the model that the sync was deployed with; None if it is not deployed."""
    check_endpoints(os.environ, "CLOUDFORMATION")
    stack = read_stack(boto3.client("cloudformation"), stack_name(prefix, stage or STAGE, "Sync"))
    if stack is None:
        return None
    try:
        model = stack.description()
    except ValueError:
        model = None
    if model is None:
        msg = (
            f"stack {stack.name!r} does not say which model it was deployed with: "
            "deploy this version of AdminView once, with the model that is there"
        )
        raise SettingsError(msg)
    return checked(model, f"the template of stack {stack.name!r}")
