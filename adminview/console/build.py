"""Build the console's page into `static/`: `python adminview/console/build.py`.

The page consists of ES modules, so nothing is bundled. Every file gets a name with a hash of its
content, imports are rewritten to these names, and npm's packages are copied from `node_modules`.
This module uses the standard library only, because the build of the wheel runs it.
"""

import re
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

HERE = Path(__file__).resolve().parent
PAGE = HERE / "page"
STATIC = HERE / "static"
PACKAGES = HERE.parents[1] / "node_modules"
# What an import by name stands for.
MODULES = {
    "htm": "htm/dist/htm.module.js",
    "preact": "preact/dist/preact.mjs",
    "preact/hooks": "preact/hooks/dist/hooks.mjs",
}
LICENSES = ("htm", "preact")
IMPORT = re.compile(r"""((?:^|;)(?:import|export)\b[^"';]*?from\s*)"([^"]+)\"""", re.MULTILINE)
SOURCE_MAP = re.compile(r"\n?//# sourceMappingURL=.*\s*$")


class BuildError(Exception):
    """The page cannot be built; the message says what to do."""


class PageBuild:
    """Collects the page's files under their hashed names."""

    def __init__(self) -> None:
        self.assets: dict[str, bytes] = {}
        self._modules: dict[Path, str] = {}
        self._open: list[Path] = []

    def module(self, path: Path) -> str:
        """Add a module with all that it imports, and return its URL."""
        if path in self._open:
            cycle = " -> ".join(module.name for module in [*self._open, path])
            msg = f"modules import each other, so their hashes are undefined: {cycle}"
            raise BuildError(msg)
        if path not in self._modules:
            self._open.append(path)
            code = SOURCE_MAP.sub("\n", path.read_text(encoding="utf-8"))
            code = IMPORT.sub(lambda match: f'{match[1]}"{self._imported(match[2], path)}"', code)
            self._open.pop()
            self._modules[path] = self.add(f"{path.stem}.js", code.encode())
        return self._modules[path]

    def _imported(self, name: str, importer: Path) -> str:
        path = PACKAGES / MODULES[name] if name in MODULES else importer.parent / name
        if not path.is_file():
            msg = f"{importer.name} imports {name!r}, which is not at {path}; run `npm ci` first"
            raise BuildError(msg)
        return self.module(path)

    def add(self, name: str, content: bytes) -> str:
        """Add a file and return its URL."""
        stem, _, ending = name.rpartition(".")
        hashed = f"{stem}.{sha256(content).hexdigest()[:16]}.{ending}"
        self.assets[hashed] = content
        return f"/assets/{hashed}"


def build(folder: Path = STATIC) -> int:
    """Build the page into *folder*, which appears only when it is complete; return its size."""
    page = PageBuild()
    main = page.module(PAGE / "main.js")
    scripts = [f"/assets/{name}" for name in page.assets]
    licenses = [(PACKAGES / name / "LICENSE").read_text(encoding="utf-8") for name in LICENSES]
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    values = {
        "main": main,
        "style": page.add("style.css", (PAGE / "style.css").read_bytes()),
        "icon": page.add("icon.svg", (PAGE / "icon.svg").read_bytes()),
        "licenses": page.add("licenses.txt", "\n\n".join(licenses).encode()),
        "preload": "\n".join(f'<link rel="modulepreload" href="{url}">' for url in scripts),
    }
    html = re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], html)
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(mkdtemp(dir=folder.parent, prefix=".page-"))
    fresh.chmod(0o755)
    (fresh / "assets").mkdir()
    for name, content in page.assets.items():
        (fresh / "assets" / name).write_bytes(content)
    (fresh / "index.html").write_text(html, encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
    return sum(map(len, page.assets.values())) + len(html)


if __name__ == "__main__":
    try:
        build()
    except (BuildError, FileNotFoundError) as error:
        sys.exit(f"The console's page was not built: {error}")
