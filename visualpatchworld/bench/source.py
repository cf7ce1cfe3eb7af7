"""Where episodes come from, as people say it."""

from __future__ import annotations

from visualpatchworld.domain import Domain


def source_title(domain: Domain, source: str) -> str:
    """The domain's title, with the name of the source where that is not the domain's own collection."""
    if source in ("", domain.name):
        return domain.title
    return f"{domain.title} {source.removeprefix(domain.name).lstrip('_-')}"
