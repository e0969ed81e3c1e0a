"""Removing a deployment deletes everything except what is kept on purpose."""

from tests.support.e2e.cloud import Checkout
from tests.support.e2e.inventory import inventory

PROD = ("--output", "prod.out", "-c", "adminview:stage=prod", "-c", "adminview:prefix=kept-")


def test_destroy_leaves_nothing_of_dev(checkout: Checkout) -> None:
    checkout.cdk("destroy", "--all", "--force", "--app", "cdk.out")
    assert inventory(checkout) == {}


def test_prod_is_not_destroyed_before_its_protection_is_taken_away(checkout: Checkout) -> None:
    for protect in ("false", "true"):
        option = ("-c", f"adminview:protect={protect}")
        checkout.cdk("deploy", "--all", "--require-approval", "never", *PROD, *option)
    before = inventory(checkout)
    refused = checkout.run("npx", "cdk", "destroy", "--all", "--force", "--app", "prod.out")
    assert refused.returncode != 0
    assert "TerminationProtection is enabled" in refused.stderr
    assert inventory(checkout) == before


def test_destroy_leaves_the_data_and_the_logs_of_prod(checkout: Checkout) -> None:
    before, stacks = inventory(checkout), checkout.client("cloudformation")
    for stack in stacks.describe_stacks()["Stacks"]:
        stacks.update_termination_protection(
            StackName=stack["StackName"], EnableTerminationProtection=False
        )
    checkout.cdk("destroy", "--all", "--force", "--app", "prod.out")
    kept = {"table", "queue", "log group"}
    assert inventory(checkout) == {kind: before[kind] for kind in kept}
    assert all(name.startswith("kept-") for name in before["table"])
