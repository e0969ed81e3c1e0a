"""AdminView as a construct, next to an adopter's own resources."""

import json
import re
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from adminview.cdk import AdminView, Stage
from adminview.cdk import bundle as bundling
from adminview.model import Registry
from adminview.model.errors import SettingsError
from tests.support.shop import registry

STRING = dynamodb.AttributeType.STRING
BOTH_IMAGES = dynamodb.StreamViewType.NEW_AND_OLD_IMAGES


@pytest.fixture(autouse=True)
def build_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundling, "_install", lambda *_: None)
    monkeypatch.chdir(tmp_path)


def own_stack(app: cdk.App) -> cdk.Stack:
    """Make a stack with a table, a queue and a name for its template's metadata."""
    stack = cdk.Stack(app, "Shop")
    stack.template_options.metadata = {"Owner": "shop"}
    sqs.Queue(stack, "Mine")
    return stack


def orders_in(stack: cdk.Stack) -> dynamodb.TableV2:
    return dynamodb.TableV2(
        stack,
        "Orders",
        partition_key=dynamodb.Attribute(name="CustomerId", type=STRING),
        sort_key=dynamodb.Attribute(name="SK", type=STRING),
        dynamo_stream=BOTH_IMAGES,
    )


def template_of(*, embedded: bool, **properties: Any) -> dict[str, Any]:
    app = cdk.App()
    stack = own_stack(app)
    orders = orders_in(stack)
    if embedded:
        AdminView(stack, "AdminView", views=registry(), tables={"Orders": orders}, **properties)
    other = cdk.Stack(app, "Other")
    sqs.Queue(other, "Theirs")
    template = dict(Template.from_stack(stack).to_json())
    assert not other.termination_protection
    assert not stack.termination_protection
    theirs: dict[str, Any] = Template.from_stack(other).to_json()["Resources"]
    assert [resource.get("Properties") for resource in theirs.values()] == [None]
    return template


def test_it_changes_nothing_outside_its_scope() -> None:
    before = template_of(embedded=False)
    protected = Stage("prod", retain=True, protect=True)
    after = template_of(embedded=True, stage=protected, tags={"team": "shop"})
    own = before["Resources"]
    assert {name: after["Resources"][name] for name in own} == own
    assert after["Metadata"] == before["Metadata"]
    added = [name for name in after["Resources"] if name not in own]
    assert added
    assert all(name.startswith("AdminView") for name in added)


def test_a_table_of_the_app_is_followed_and_not_created_again() -> None:
    template = template_of(embedded=True)
    resources = template["Resources"]
    (orders,) = [name for name in resources if name.startswith("Orders")]
    streams = [
        resource["Properties"]["EventSourceArn"]
        for resource in resources.values()
        if resource["Type"] == "AWS::Lambda::EventSourceMapping"
    ]
    assert {"Fn::GetAtt": [orders, "StreamArn"]} in streams
    tables = [
        resource
        for resource in resources.values()
        if resource["Type"] == "AWS::DynamoDB::GlobalTable"
    ]
    names = {table["Properties"].get("TableName") for table in tables}
    assert names == {
        None,  # CDK's name of the adopter's own
        *("AdminViewTable", "AdminViewTableProgress", "AdminViewTotals"),
        *("Payments", "Products", "Users"),
    }


def test_a_name_that_only_the_deployment_knows_is_in_the_environment() -> None:
    """The bundle holds the other sources' tables."""
    resources = template_of(embedded=True)["Resources"]
    functions = [
        resource
        for name, resource in resources.items()
        if resource["Type"] == "AWS::Lambda::Function" and "TotalsFunction" not in name
    ]
    assert len(functions) == 6
    (orders,) = [name for name in resources if name.startswith("Orders")]
    for function in functions:
        sources = function["Properties"]["Environment"]["Variables"]["ADMINVIEW_SOURCES"]
        assert sources == {"Fn::Join": ["", ['{"Orders": "', {"Ref": orders}, '"}']]}


def test_the_librarys_own_handlers_run_unless_a_package_is_named() -> None:
    def handlers(**properties: Any) -> set[str]:
        resources = template_of(embedded=True, **properties)["Resources"].values()
        return {
            resource["Properties"]["Handler"]
            for resource in resources
            if resource["Type"] == "AWS::Lambda::Function"
        }

    names = ("api", "build", "bulk", "replay", "sync", "totals", "verify")
    assert handlers() == {f"adminview.handlers.{name}.handle" for name in names}
    assert handlers(handlers="lambdas") == {f"lambdas.{name}.handler" for name in names}


def test_the_api_is_deployed_after_what_is_ready_is_recorded() -> None:
    resources = template_of(embedded=True)["Resources"]
    (build,) = [
        id_ for id_, resource in resources.items() if resource["Type"] == "Custom::AdminViewBuild"
    ]
    (api,) = [
        resource
        for id_, resource in resources.items()
        if resource["Type"] == "AWS::Lambda::Function" and "ApiFunction" in id_
    ]
    assert build in api["DependsOn"]


def test_two_of_them_live_in_one_stack_with_a_prefix_each() -> None:
    app = cdk.App()
    stack = cdk.Stack(app, "Shop")
    for name in ("One", "Two"):
        AdminView(stack, name, views=registry(), prefix=f"{name.lower()}-")
    Template.from_stack(stack)


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (None, "the table of source 'Orders' has no stream: create it with"),
        (dynamodb.StreamViewType.KEYS_ONLY, "the stream of source 'Orders' carries KEYS_ONLY"),
    ],
)
def test_a_table_without_both_images_is_refused(
    stream: dynamodb.StreamViewType | None, reason: str
) -> None:
    stack = cdk.Stack(cdk.App(), "Shop")
    key = dynamodb.Attribute(name="CustomerId", type=STRING)
    table = dynamodb.Table(stack, "Orders", partition_key=key, stream=stream)
    with pytest.raises(SettingsError, match=reason):
        AdminView(stack, "AdminView", views=registry(), tables={"Orders": table})


def test_a_table_of_an_undeclared_source_is_refused() -> None:
    stack = cdk.Stack(cdk.App(), "Shop")
    with pytest.raises(SettingsError, match="no view declares a source 'Order'; declared are"):
        AdminView(stack, "AdminView", views=registry(), tables={"Order": orders_in(stack)})


def test_its_options_come_from_properties_and_not_from_the_context() -> None:
    app = cdk.App(context={"adminview": {"stage": "prod"}})
    stack = cdk.Stack(app, "Shop")
    with pytest.raises(SettingsError, match="context adminview: unknown key 'stage'"):
        AdminView(stack, "AdminView", views=registry())


def test_a_registry_of_any_module_is_bundled(tmp_path: Path) -> None:
    """Not only the modules of `lambdas.views`."""
    shop = registry()
    views = Registry.of(module for module in shop.modules if module.__name__.endswith("users"))
    app = cdk.App(outdir=str(tmp_path / "out"))
    AdminView(cdk.Stack(app, "Shop"), "AdminView", views=views)
    app.synth()
    (manifest,) = (tmp_path / "out").glob("asset.*/adminview-manifest.json")
    assert json.loads(manifest.read_text())["views"] == ["lambdas.views.users"]
    bundled = {path.name for path in manifest.parent.glob("lambdas/views/*.py")}
    assert bundled == {"__init__.py", "users.py"}


def test_the_stack_of_the_guide_contains_its_own_table_and_a_view_of_it() -> None:
    page = Path(__file__).parents[2] / "docs" / "embedding.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own
    template = Template.from_stack(names["ShopStack"](cdk.App(), "Shop"))
    tables = template.find_resources("AWS::DynamoDB::GlobalTable")
    assert [name for name in tables if name.startswith("Orders")]
    assert [name for name in tables if name.startswith("AdminView")]
