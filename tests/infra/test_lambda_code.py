"""Stacks are built only for the model whose views are in the Lambda bundle."""

from pathlib import Path

import aws_cdk as cdk
import pytest

from adminview.cdk import lambda_code
from adminview.cdk.bundle import BundleError
from adminview.cdk.lambda_code import bundled_code
from adminview.model import Registry
from infra.app import build
from lambdas.views import orders, payments, products, users
from tests.infra.test_app import NEW_FILE
from tests.shop import registry
from tests.view_files import load_view_file, with_view_file


def refusal(model: Registry) -> str:
    with pytest.raises(BundleError) as caught:
        build(cdk.App(), model)
    return str(caught.value)


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundle the shop's view files and no others."""
    monkeypatch.setattr("adminview.views.registry", registry)


def test_a_registry_of_its_own_is_refused_with_both_sides_named(tmp_path: Path) -> None:
    own = Registry.of([load_view_file(tmp_path / "own_parcels.py", NEW_FILE)])
    said = refusal(own)
    assert f"the stacks are built for model {own.fingerprint}" in said
    assert f"in the Lambda bundle declare model {registry().fingerprint}" in said
    assert "\n  source 'Parcels': only in the stacks\n" in said
    assert "\n  view 'parcel' of 'Parcels': only in the stacks\n" in said
    assert "\n  source 'Orders': only in the bundle\n" in said
    assert "\n  access pattern 'orders-by-status': only in the bundle\n" in said
    assert "'Owner'" not in said, "both have it"
    assert "Declare the model in lambdas/views" in said


def test_a_source_with_other_views_is_named(tmp_path: Path) -> None:
    text = Path(str(products.__file__)).read_text()
    changed = load_view_file(tmp_path / "products.py", text.replace("PRODUCT#", "THING#"))
    said = refusal(Registry.of([orders, payments, changed, users]))
    assert "source 'Products': declared differently" in said
    assert "only in" not in said


def test_other_indexes_alone_are_refused(tmp_path: Path) -> None:
    grown = with_view_file(
        tmp_path / "more.py",
        "from adminview.model import Index\nmore = Index('More', partition='MORE_PK')\n",
    )
    assert "index 'More': only in the stacks" in refusal(grown)


def test_the_model_of_the_checkout_is_accepted() -> None:
    bundled_code().check(registry())


def test_view_files_that_are_imported_from_elsewhere_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lambda_code, "PACKAGE", tmp_path)
    with pytest.raises(BundleError, match=f"the bundle is made of {tmp_path}, but Python imports"):
        bundled_code()
