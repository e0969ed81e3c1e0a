"""What pyproject.toml cannot say: the wheel has the shop as an example, and the console's page."""

import runpy
import warnings
from pathlib import Path
from shutil import copyfile

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

EXAMPLE = "adminview.examples.shop"
ROOT_FILES = ("app.py", "cdk.json")  # of the app, in no package


def build_page() -> None:
    """Build the console's page where npm's packages are; an sdist contains the built page."""
    if Path("node_modules", "preact").is_dir():
        runpy.run_path("adminview/console/build.py")["build"]()
    elif not Path("adminview/console/static/index.html").is_file():
        warnings.warn("without the console: run `npm ci` first to build its page", stacklevel=1)


class SdistWithPage(sdist):
    """Builds the console's page first."""

    def run(self) -> None:
        """Build the page, then collect the files."""
        build_page()
        super().run()


class BuildWithApp(build_py):
    """Builds the console's page, and copies the app's files that are at the root."""

    def run(self) -> None:
        """Build the page and the packages, then add the files."""
        if not self.editable_mode:
            build_page()
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
        "adminview.console": ["static/*.html", "static/assets/*"],
        "adminview.examples.starter": [
            *("README.md", "gitignore", "pytest.ini", "*/*.py", "*/*/*.py"),
        ],
    },
    cmdclass={"build_py": BuildWithApp, "sdist": SdistWithPage},
)
