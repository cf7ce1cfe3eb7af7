"""Which options apply to a call: each one that is typed reaches the job, or is refused in one sentence.

An option says in its annotation when it applies, in facts about the call: the kind of world (`domain`, `environment`,
`log`, `table`, `HDF5`), what is planned for (`goal`, `reward`), another option that is typed (`--overlay`), or the
value of one (`--via vlm`).
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, get_type_hints

import typer

from visualpatchworld.errors import VpwError

WORDS = {
    "domain": "a domain",
    "environment": "an environment",
    "log": "a log",
    "table": "a table (.csv, .parquet)",
    "HDF5": "an HDF5 log",
    "goal": "a goal",
    "reward": "a reward",
}


class DoesNotApply(VpwError):
    """An option that was typed where it would change nothing."""


class Rule(ABC):
    """When an option applies; the facts are any of those listed, and `instead` says what to do otherwise."""

    def __init__(self, *facts: str, instead: str = ""):
        self.facts, self.instead = facts, instead

    @abstractmethod
    def broken(self, flag: str, call: Call) -> str:
        """Why the option does not apply to this call; empty where it does."""


class Needs(Rule):
    """The option applies where one of these facts holds."""

    def broken(self, flag: str, call: Call) -> str:
        if call.facts & {*self.facts}:
            return ""
        wanted = " or ".join(WORDS.get(fact, fact) for fact in self.facts)
        return f"{flag} {'is for' if {*self.facts} & {*WORDS} else 'needs'} {wanted}{call.but({*self.facts})}"


class Without(Rule):
    """The option applies where none of these facts holds."""

    def broken(self, flag: str, call: Call) -> str:
        found = [WORDS.get(fact, fact) for fact in self.facts if fact in call.facts]
        return f"{flag} does not go with {found[0]}{call.but({*self.facts} & {*WORDS})}" if found else ""


class Refused(Rule):
    """The option never applies to this verb; `instead` says why."""

    def broken(self, flag: str, call: Call) -> str:
        return f"{flag} is not possible here"


class Call(NamedTuple):
    """What is known of a call before its job begins."""

    world: str | None  # as it was typed, or as the record beside a program names it
    facts: frozenset[str]

    def but(self, wanted: Collection[str]) -> str:
        """What there is in place of the facts that were wanted."""
        for kinds, told in (
            (("goal", "reward"), f"{self.world} is planned in for"),
            (("domain", "environment", "log", "table", "HDF5"), f"{self.world} is"),
        ):
            if {*kinds} & {*wanted}:
                known = [WORDS[kind] for kind in kinds if kind in self.facts]
                if known and self.world is not None:
                    return f", and {told} {known[-1]}"
        return ""


def as_command(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb as Typer takes it: a parameter that is a named tuple becomes one option per field,
    and every option that is typed is checked before the job begins.
    """
    signature = inspect.signature(verb, eval_str=True)
    groups = {name: one.annotation for name, one in signature.parameters.items() if hasattr(one.annotation, "_fields")}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters: list[inspect.Parameter] = []
    for name, one in signature.parameters.items():
        group = groups.get(name)
        if group is None:
            parameters.append(one)
            continue
        types = get_type_hints(group, include_extras=True)
        parameters += [
            inspect.Parameter(field, kind, default=group._field_defaults[field], annotation=types[field])
            for field in group._fields
        ]
    rules = {
        one.name: [part for part in getattr(one.annotation, "__metadata__", ()) if isinstance(part, Rule)]
        for one in parameters
    }

    @functools.wraps(verb)
    def checked(context: typer.Context, **given: Any) -> None:
        flags = {param.name: param.opts[0] for param in context.command.params if param.name is not None}
        sources = {name: context.get_parameter_source(name) for name in given}
        typed = [name for name, source in sources.items() if getattr(source, "name", "") == "COMMANDLINE"]
        if any(rules[name] for name in typed):
            call = call_of(given, {name: flags[name] for name in typed}, flags)
            for name in typed:
                for rule in rules[name]:
                    if broken := rule.broken(flags[name], call):
                        raise DoesNotApply(f"{broken}{rule.instead and f'; {rule.instead}'}.")
        folded = {name: group(**{field: given.pop(field) for field in group._fields}) for name, group in groups.items()}
        verb(**given, **folded)

    asked = inspect.Parameter("context", kind, annotation=typer.Context)
    checked.__signature__ = signature.replace(parameters=[asked, *parameters])  # pyright: ignore[reportAttributeAccessIssue]
    checked.__annotations__ = {one.name: one.annotation for one in (asked, *parameters)}
    return checked


def call_of(given: Mapping[str, Any], typed: Mapping[str, str], flags: Mapping[str, str]) -> Call:
    """What is known of a call from the values of its parameters, and which of them were typed."""
    facts = {flag for name, flag in typed.items() if given[name] not in (None, False)}
    facts |= {f"{flags[name]} {value}" for name, value in given.items() if isinstance(value, str)}
    world = _world(given, flags)
    if world is not None:
        from visualpatchworld.world.open import kinds_of

        facts |= kinds_of(world)
    # A goal of a domain's own episodes is planned for unless a reward is asked for; elsewhere it has to be given.
    facts.add(given.get("task") or ("goal" if "domain" in facts or given.get("goal") is not None else "reward"))
    return Call(world, frozenset(facts))


def _world(given: Mapping[str, Any], flags: Mapping[str, str]) -> str | None:
    """The world that a verb is about: its argument, or what a program is compared with."""
    for name in ("world", "domain"):
        if name in flags and not flags[name].startswith("-"):
            return given[name]
    if not {"program", "path"} & {*flags}:
        return None
    from visualpatchworld.domain import find_domains
    from visualpatchworld.paper.record import find_program

    named = given.get("world") or given.get("domain")
    if named is None and "world" in flags:
        named = find_program(given.get("path") or given["program"]).world
    # Episodes of a domain belong to it; any other log is the truth itself.
    return named if named in find_domains() else str(given.get("traces") or named or "") or None
