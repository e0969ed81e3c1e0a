"""What pyproject.toml cannot say: the wheel holds the app of this repository as an example."""

from pathlib import Path
from shutil import copyfile

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

EXAMPLE = "adminview.examples.shop"
ROOT_FILES = ("app.py", "cdk.json")  # of the app, in no package


class BuildWithApp(build_py):
    """Copies the app's files that are at the root."""

    def run(self) -> None:
        """Build the packages, then add the files."""
        super().run()
        if not self.editable_mode:
            folder = Path(self.build_lib, *EXAMPLE.split("."))
            for name in ROOT_FILES:
                copyfile(name, folder / name)


setup(
    packages=[
        *find_packages(include=["adminview", "adminview.*"]),
        *(
            f"{EXAMPLE}.{name}"
            for name in find_packages(include=["infra", "infra.*", "lambdas", "lambdas.*"])
        ),
    ],
    package_dir={f"{EXAMPLE}.{name}": name for name in ("infra", "lambdas")},
    package_data={
        "adminview": ["py.typed", "__init__.pyi"],
        "adminview.cdk": ["bundled/*.txt"],
        "adminview.examples.starter": [
            *("README.md", "gitignore", "pytest.ini", "*/*.py", "*/*/*.py"),
        ],
    },
    cmdclass={"build_py": BuildWithApp},
)
