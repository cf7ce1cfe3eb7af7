"""The way data flows is the way the folders lie: imports point upwards only, and the machinery names no domain."""

import ast
import re
from pathlib import Path

import pytest

import visualpatchworld
from visualpatchworld.domain import find_domains

PACKAGE = Path(visualpatchworld.__file__).parent

# A module may import from its own line and the lines above it. The longest matching name counts.
LAYERS = [
    ["errors"],
    ["files", "extras", "world.trajectory"],
    ["llm"],
    ["scene"],
    ["simulator", "task"],
    ["graphics", "engine_pool"],
    ["laws", "grammar"],
    ["program"],
    ["plan.planner", "plan.scorer", "plan.sampling", "plan.cem"],
    ["domain"],
    ["trace"],
    ["world"],
    ["search"],
    ["scene.calibrate"],
    ["program.env"],
    [
        "plan.feedback",
        "plan.return_search",
        "plan.reward",
        "plan.goal_state",
    ],
    ["induction"],
    ["plan"],
    ["paper"],
    ["films"],
    ["report"],
    ["live"],
    ["api"],
    ["cli", "__main__"],
]
MACHINERY = sorted(path for path in PACKAGE.rglob("*.py") if "domains" not in path.relative_to(PACKAGE).parts)


def module_name(path: Path) -> str:
    """`scene.state` for visualpatchworld/scene/state.py, and `` for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def layer(module: str) -> int:
    matches = [
        (len(name), level)
        for level, names in enumerate(LAYERS)
        for name in names
        if module == name or module.startswith(f"{name}.")
    ]
    assert matches, f"'{module}' has no place among the layers; give it one"
    return max(matches)[1]


def imported_modules(path: Path) -> list[str]:
    """The modules of this package that a file imports, as `scene.state`."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide which way they point"
            module = node.module or ""
            members = [f"{module}.{alias.name}" for alias in node.names]
            found += [member if is_module(member) else module for member in members]
    prefix = "visualpatchworld."
    return [name.removeprefix(prefix) for name in found if name.startswith(prefix)]


def is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize("path", MACHINERY, ids=module_name)
def test_imports_point_upwards(path: Path):
    name = module_name(path)
    if name == "":
        return
    for imported in imported_modules(path):
        # Discovery looks into the folder of domains; nothing else knows that there are any.
        if name == "domain" and imported == "domains":
            continue
        assert not imported.startswith("domains"), f"{name} imports {imported}"
        assert layer(imported) <= layer(name), f"{name} imports {imported}, which lies below it"


@pytest.mark.parametrize("path", MACHINERY, ids=module_name)
def test_machinery_names_no_domain(path: Path):
    text = re.sub(r"[-_ ]", "", path.read_text(encoding="utf-8").lower())
    assert not [name for name in find_domains() if name in text]


def test_domains_have_the_same_files():
    for name, place in find_domains().items():
        if place.is_dir():
            files = {path.name for path in place.glob("*.py")}
            assert files == {"__init__.py", "simulator.py"}, name
