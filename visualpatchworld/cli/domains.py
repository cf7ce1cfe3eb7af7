"""`vpw domains`: what worlds there are."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from visualpatchworld.cli._options import AsJson
from visualpatchworld.cli._show import show
from visualpatchworld.domain import DEFAULT, Domain, find_domains, load_domain
from visualpatchworld.errors import VpwError


def domains(as_json: AsJson = False) -> None:
    """List the domains: engine, action, state and the constants that `--vary` can change.

    Example: vpw domains --json
    """
    rows, broken = [], {}
    for name in find_domains():
        try:
            rows.append(_row(load_domain(name)))
        except VpwError as error:  # one that does not load hides none of the others
            broken[name] = str(error)
        except Exception as error:  # nor does one that loads and then fails
            broken[name] = f"The domain '{name}' does not work ({type(error).__name__}: {error})."
    table = Table("domain", "engine", "action", "state", "varies")
    for row in rows:
        state = ", ".join(f"{field['name']} ({field['unit']})" for field in row["state"])
        table.add_row(row["name"], row["engine"], str(row["action_dim"]), state, ", ".join(item["name"] for item in row["varies"]))
    show({"domains": rows, "broken": broken}, as_json, table, *broken.values())


def _row(domain: Domain) -> dict[str, Any]:
    family = domain.family()
    return {
        "name": domain.name,
        "title": domain.title,
        "engine": domain.engine,
        "challenge": domain.challenge,
        "gym_id": f"vpw/{domain.gym_id}",
        "action_dim": domain.layout.action.width,
        "state": [{"name": field.name, "unit": field.unit} for field in domain.scene.state_space],
        "metrics": list(domain.metrics),
        "sketches": [form.name for form in (*family.forms(), *family.extra)],
        "planner": domain.planner.title,
        "planners": {name: domain.planner_named(name).title for name in (DEFAULT, *domain.planners)},
        "varies": domain.constants.table(),
    }
