"""What pyproject.toml cannot say: the wheel holds the app of this repository as an example."""

from setuptools import find_packages, setup

EXAMPLE = "adminview.examples.shop"

setup(
    packages=[
        *find_packages(include=["adminview", "adminview.*"]),
        *(f"{EXAMPLE}.{name}" for name in find_packages(include=["lambdas", "lambdas.*"])),
    ],
    package_dir={f"{EXAMPLE}.lambdas": "lambdas"},
    package_data={"adminview": ["py.typed"], f"{EXAMPLE}.lambdas": ["requirements*.txt"]},
)
