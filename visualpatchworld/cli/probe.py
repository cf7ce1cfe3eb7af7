"""`vpw probe`: level 1 alone, the evidence table."""

from __future__ import annotations

from typing import Annotated

import typer

from visualpatchworld.cli._options import AsJson, DomainName, Seed, Vary, varied_constants
from visualpatchworld.cli._show import show, working
from visualpatchworld.domain import load_domain

Thorough = Annotated[bool, typer.Option("--thorough", help="Try every candidate, even those that cannot win any more.")]


def probe(domain: DomainName, seed: Seed = 0, vary: Vary = None, thorough: Thorough = False, as_json: AsJson = False) -> None:
    """Choose the form of a domain's dynamics by short experiments, and show the evidence.

    Example: vpw probe DOMAIN --vary NAME=VALUE
    """
    import numpy as np

    from visualpatchworld.cli._compiled import keep_compiled
    from visualpatchworld.cli._evidence import evidence_table, unexplained_line
    from visualpatchworld.induction.blackbox import black_box
    from visualpatchworld.induction.induce import choose_form, evidence_rows

    keep_compiled()
    world = load_domain(domain)
    constants = varied_constants(world, vary)
    world = world.of(constants)
    box = black_box(world, constants)
    with working("probing") as progress:
        evidence = choose_form(world, box, np.random.default_rng(seed), thorough=thorough, progress=progress)
    result = {
        "domain": world.name,
        "sketch": evidence.winner.sketch.name,
        "choices": dict(evidence.winner.sketch.choices),
        "candidates": evidence_rows(evidence),
        "unexplained_probes": list(evidence.unexplained),
        "probe_tolerances": dict(evidence.tolerances),
        "seed": seed,
    }
    show(result, as_json, evidence_table(evidence), unexplained_line(evidence))
