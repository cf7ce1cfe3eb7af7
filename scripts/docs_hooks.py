"""What the documentation's site is told by the code itself: every verb of the command line, from its own help."""

from __future__ import annotations

import re
from typing import Any

import typer

from visualpatchworld.cli import build_app

MARKER = "<!-- verbs -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for every page; the one with the marker gets the reference."""
    return markdown.replace(MARKER, reference()) if MARKER in markdown else markdown


def reference() -> str:
    """All verbs, each with its sentence, its examples and its parameters."""
    verbs: dict[str, Any] = typer.main.get_command(build_app()).commands  # pyright: ignore[reportAttributeAccessIssue]
    return "\n".join(_verb(name, verb) for name, verb in sorted(verbs.items()))


def _verb(name: str, verb: Any) -> str:
    examples = re.findall(r"^Example: (.*)$", verb.help, flags=re.MULTILINE)
    told = re.sub(r"^Example: .*$", "", verb.help, flags=re.MULTILINE).strip()
    rows = [_row(parameter) for parameter in verb.params]
    return "\n".join([f"## vpw {name}\n", told, "\n```sh", *examples, "```\n", "| | |", "|---|---|", *rows, ""])


def _row(parameter: Any) -> str:
    argument = parameter.param_type_name == "argument"
    name = parameter.metavar if argument else " ".join([*parameter.opts, parameter.metavar or ""]).strip()
    plain = parameter.default is None or parameter.default is False
    default = "" if parameter.required or plain else f" Default: `{parameter.default}`."
    needed = " Required." if parameter.required and not argument else ""
    cells = (f"`{name}`", f"{parameter.help or ''}{default}{needed}")
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
