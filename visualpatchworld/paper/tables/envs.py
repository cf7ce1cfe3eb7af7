"""The worlds: what they are made of and what is hard about them."""

from __future__ import annotations

from visualpatchworld.domain import find_domains, load_domain
from visualpatchworld.paper.results import Results
from visualpatchworld.paper.table import Column, Entry, Quoted, Section, Table, quote, words


def table(results: Results, quoted: Quoted) -> Table:
    """Every domain that is found; this table needs no results."""
    domains = [load_domain(name) for name in find_domains()]
    rows = []
    for domain in domains:
        paper = quoted.row(domain=domain.name)
        sizes = Entry(f"{len(domain.scene.state_space)} / {domain.layout.action.width}")
        told = f"{paper['kind']}: {paper['challenge']}" if paper else None
        rows.append(
            (words(domain.title), words(domain.engine), words(domain.challenge), sizes, words(", ".join(domain.metrics)), quote(told))
        )
    headings = {"domain": True, "engine": True, "challenge": True, "state / action": False, "success": True, "paper (quoted)": True}
    return Table(
        id=quoted.id,
        title="Domains and what is hard about them",
        columns=tuple(Column(heading, words=is_words) for heading, is_words in headings.items()),
        sections=(Section("", tuple(rows)),),
        notes=("The first metric of a domain is the main one.", quoted.note),
    )
