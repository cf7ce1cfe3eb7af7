"""The evidence of level 1 as a table for people."""

from __future__ import annotations

from rich.table import Table

from visualpatchworld.induce.select import Candidate, Evidence


def evidence_table(evidence: Evidence) -> Table:
    """Every candidate with what it explains and why it was not chosen, the winner first."""
    table = Table(title="Level 1: which form explains the probes?")
    table.add_column("sketch")
    table.add_column("explained", justify="right")
    table.add_column("constants", justify="right")
    table.add_column("why not")
    for candidate in evidence.ranked:
        style = "bold green" if candidate is evidence.winner else ""
        explained = f"{candidate.explained}/{len(evidence.probes)}" if candidate.verdicts else "-"
        table.add_row(candidate.sketch.name, explained, str(candidate.num_constants), _why_not(candidate, evidence), style=style)
    return table


def _why_not(candidate: Candidate, evidence: Evidence) -> str:
    if candidate is evidence.winner:
        return "chosen"
    if candidate.obstacle:
        return f"set aside: {candidate.obstacle}"
    refuting = next((verdict for verdict in candidate.verdicts if not verdict.explained), None)
    if refuting is None:
        return "explains as much, with more constants"
    worst = max(refuting.errors, key=lambda name: refuting.errors[name])
    return f"refuted by '{refuting.probe}': {worst} off by {refuting.errors[worst]:.3g}"


def unexplained_line(evidence: Evidence) -> str:
    """What the family cannot explain, or nothing."""
    if not evidence.unexplained:
        return ""
    probes = ", ".join(f"'{name}'" for name in evidence.unexplained)
    return f"No sketch of this family explains {probes}."
