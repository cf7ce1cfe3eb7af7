"""The documentation speaks of things that are there: pages, files, verbs, options, listings."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import visualpatchworld
from visualpatchworld.cli import build_app

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])


@pytest.fixture(scope="module")
def verbs() -> dict[str, Any]:
    return typer.main.get_command(build_app()).commands  # pyright: ignore[reportAttributeAccessIssue]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(text: str) -> list[str]:
    """What follows `vpw` in code, inline or on a line of its own, without comments."""
    blocks = "\n".join(re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL))
    inline = re.findall(r"`vpw ([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    lines = re.findall(r"^vpw (.*?)(?:  +#.*)?$", blocks, flags=re.MULTILINE)
    return [" ".join(command.split()) for command in [*lines, *inline] if not command.startswith(("VERB", "--help"))]


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{name_of(page)} links to {link}"
        assert not anchor or anchor in anchors(target), f"{name_of(page)} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_are_those_of_the_command_line(page: Path, verbs: dict[str, Any]):
    for command in commands(page.read_text(encoding="utf-8")):
        verb, *words = command.split()
        assert verb in verbs, f"{name_of(page)}: vpw {command}"
        options = {option for parameter in verbs[verb].params for option in parameter.opts} | {"--help"}
        unknown = [word for word in words if word.startswith("--") and word.split("=")[0] not in options]
        assert not unknown, f"{name_of(page)}: vpw {command}"


def test_commands_are_found_where_they_stand():
    text = "See `vpw plan --help`.\n```sh\nvpw run puck   # all of it\n```\n`vpw VERB --help`, `vpw`, `vpw bench\nmain`"
    assert commands(text) == ["run puck", "plan --help", "bench main"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name_of)
def test_files_that_are_named_are_there(page: Path):
    for path in re.findall(
        r"(?<![\w/.-])(?:tests|benchmarks|scripts|examples|programs|visualpatchworld)/[\w./-]*\w",
        page.read_text(encoding="utf-8"),
    ):
        assert (ROOT / path).exists() or path.startswith("programs/METHOD"), f"{name_of(page)} names {path}"


def test_listings_are_part_of_their_files():
    listings = [
        (page, *found)
        for page in PAGES
        for found in re.findall(
            r"<!-- from (\S+) -->\n```python\n(.*?)\n```", page.read_text(encoding="utf-8"), flags=re.DOTALL
        )
    ]
    assert len(listings) >= 8
    for page, source, listing in listings:
        assert listing in (ROOT / source).read_text(encoding="utf-8"), (
            f"{name_of(page)} shows what is not in {source}: {listing[:60]}"
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_every_verb_and_every_name(site: Path, verbs: dict[str, Any]):
    reference = (site / "cli.html").read_text(encoding="utf-8")
    for name, verb in verbs.items():
        assert f"vpw {name}</h2>" in reference
        assert all(
            f"<code>{parameter.opts[0]}" in reference for parameter in verb.params if parameter.opts[0].startswith("--")
        )
    python = (site / "api.html").read_text(encoding="utf-8")
    assert all(f".{name}" in python for name in visualpatchworld.__all__)


def test_the_site_fetches_nothing(site: Path):
    """Scripts, styles and pictures come with the pages; only links that a reader clicks lead elsewhere."""
    pages = list(site.glob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").glob("*.md")))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(
            r"<(?:script|img)[^>]*src=\"https?:|<link[^>]*rel=\"stylesheet\"[^>]*href=\"https?:", text
        ), page.name
