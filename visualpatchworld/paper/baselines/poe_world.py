"""PoE-World: small experts that each foresee one number, written where the others are surprised,
weighted by likelihood and multiplied.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import textwrap
from dataclasses import dataclass, replace

import numpy as np
import scipy.optimize
from jaxtyping import Float

from visualpatchworld.domain import Domain
from visualpatchworld.llm import Reply
from visualpatchworld.paper.baselines.answer import IMPORTS, LIMITS, SingleSteps, code_of, kept, state_text
from visualpatchworld.paper.baselines.study import Candidate, Method, Study
from visualpatchworld.program.program import BadProgram, Program
from visualpatchworld.program.sandbox import Sandbox
from visualpatchworld.scene.state import StateSpace


@dataclass(frozen=True)
class PoeWorld(Method):
    """Expert synthesis, weight fitting, pruning and wrapping."""

    name: str = "poe-world"
    surprise_nats: float = 0.2  # -log p above which a transition calls for experts
    batch_size: int = 10
    kinds: tuple[str, ...] = ("action", "momentum", "contact", "constraint")
    penalty: float = 1.0  # L1, on the weights
    first_weight: float = 0.5
    least_weight: float = 0.01  # experts below are pruned
    most_transitions: int = 400  # that weights are fitted to

    def search(self, study: Study) -> Candidate | None:
        """Experts for a batch of surprising transitions, new weights, a new product;
        until nothing surprises or the budget is spent.
        """
        seen = study.train.thinned(self.most_transitions)
        product, newest = Product.empty(study.domain, seen), None
        for kind in itertools.cycle(self.kinds):
            surprising = np.flatnonzero(surprise(product) > self.surprise_nats)
            if not len(surprising) or not study.calls_left:
                break
            reply = study.client.ask(experts_prompt(self, study, product, surprising, kind))
            grown = with_experts(self, study, product, reply)
            if not grown.experts:
                # Nothing to multiply yet: the answer is written down, but it is no program.
                study.judged(kept(code_of(reply.text)), f"no expert: {kind}", newest, (reply.call,))
                continue
            product = grown
            newest = study.judged(wrapped(study, product), f"experts: {kind}", newest, (reply.call,))
            if newest.score == 1.0:
                break
        return study.best()


def with_experts(method: PoeWorld, study: Study, product: Product, reply: Reply) -> Product:
    """The product with what one answer adds to it, weighted anew and pruned."""
    new = [
        expert
        for expert in experts_of(reply, study.domain.scene.state_space)
        if expert.text not in _texts(product.experts)
    ]
    heard = [opinions(expert, product.transitions, study.domain) for expert in new]
    speaking = [(expert, values) for expert, values in zip(new, heard, strict=True) if np.isfinite(values).any()]
    grown = product.with_experts(speaking, method.first_weight)
    return fit_weights(grown, method.penalty).pruned(method.least_weight)


def experts_prompt(method: PoeWorld, study: Study, product: Product, surprising: np.ndarray, kind: str) -> str:
    """A batch of surprising transitions, and what kind of cause to look for."""
    rows = study.rng.choice(surprising, min(method.batch_size, len(surprising)), replace=False).tolist()
    return study.prompt(
        f"poe_world_{kind}", study.examples(rows, product.transitions), field=study.domain.scene.state_space.names[0]
    )


def _texts(experts: tuple[Expert, ...]) -> set[str]:
    return {expert.text for expert in experts}


METHODS = (PoeWorld(),)


@dataclass(frozen=True)
class Expert:
    """One function of an answer, with all that stood beside it, and the field it foresees."""

    function: str
    field: str
    text: str

    def factory(self, name: str) -> str:
        """The expert as a function that makes it, so that two answers' names do not meet."""
        return f"def {name}():\n{textwrap.indent(self.text, '    ')}\n    return {self.function}\n"


def experts_of(reply: Reply, space: StateSpace) -> list[Expert]:
    """Every function of an answer that is named after a field of the state, or begins with its name."""
    code = kept(code_of(reply.text))
    try:
        module = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    named = [(node.name, field_of(node.name, space)) for node in module.body if isinstance(node, ast.FunctionDef)]
    return [Expert(name, field, code) for name, field in named if field is not None]


def field_of(name: str, space: StateSpace) -> str | None:
    """The longest field name that a function's name begins with."""
    return max((field for field in space.names if name.startswith(field)), key=len, default=None)


def opinions(expert: Expert, transitions: SingleSteps, domain: Domain) -> Float[np.ndarray, " N"]:
    """What an expert foresees for each transition, NaN where it says nothing;
    one that fails anywhere is not heard at all.
    """
    space = domain.scene.state_space
    head = "\n".join([*IMPORTS, state_text(space)])
    step = (
        f"value = EXPERT(state, action)\n    return state._replace({expert.field}=float('nan') if "
        "value is None else value)"
    )
    text = f"{head}\n{expert.factory('made')}\nEXPERT = made()\ndef step(state, action):\n    {step}\n"
    try:
        with Sandbox(Program(text), space.names, transitions.actions.shape[1], LIMITS) as sandbox:
            heard = sandbox.predict(transitions.before, transitions.actions)
    except BadProgram:
        return np.full(len(transitions), np.nan)
    return (
        heard.states[0][:, space.names.index(expert.field)]
        if not heard.num_failed
        else np.full(len(transitions), np.nan)
    )


OFFSETS = np.arange(-20.0, 21.0)  # the values that are told apart, around the true one
SHARE_OF_CHANGE = 0.05  # of a field's usual change, as the tolerance where no quantity measures the field


@dataclass(frozen=True)
class Product:
    """Experts with their weights, and what each says of the transitions they were
    weighed on (NaN where it says nothing).
    """

    transitions: SingleSteps
    names: tuple[str, ...]
    expected: tuple[bool, ...]  # whether a program is asked to foresee the field
    differences: Float[np.ndarray, "N S"]  # true change of each field
    tolerances: Float[np.ndarray, " S"]
    experts: tuple[Expert, ...]
    weights: Float[np.ndarray, " M"]
    values: Float[np.ndarray, "M N"]

    @staticmethod
    def empty(domain: Domain, transitions: SingleSteps) -> Product:
        """No expert yet: every field is taken to stay as it is."""
        space = domain.scene.state_space
        changes = space.difference(transitions.after, transitions.before)
        nothing, expected = np.zeros((0, len(transitions))), tuple(field.predicted for field in space)
        return Product(
            transitions, space.names, expected, changes, field_tolerances(domain, transitions), (), np.zeros(0), nothing
        )

    def with_experts(self, new: list[tuple[Expert, np.ndarray]], weight: float) -> Product:
        """These experts besides, with a first weight."""
        values = np.concatenate([self.values, *(found[None] for _, found in new)])
        weights = np.concatenate([self.weights, np.full(len(new), weight)])
        return replace(self, experts=(*self.experts, *(expert for expert, _ in new)), weights=weights, values=values)

    def pruned(self, least: float) -> Product:
        """Without the experts that weigh next to nothing."""
        kept = np.flatnonzero(self.weights > least)
        return replace(
            self, experts=tuple(self.experts[i] for i in kept), weights=self.weights[kept], values=self.values[kept]
        )

    def of_field(self, name: str) -> list[int]:
        """The experts that foresee this field."""
        return [i for i, expert in enumerate(self.experts) if expert.field == name]


def field_tolerances(domain: Domain, transitions: SingleSteps) -> Float[np.ndarray, " S"]:
    """For each field the change that one quantity just tolerates;
    for fields that none measures, a share of their usual change.
    """
    space, state = domain.scene.state_space, transitions.before[:1]
    usual = np.abs(space.difference(transitions.after, transitions.before)).mean(axis=0)
    found = np.maximum(SHARE_OF_CHANGE * usual, 1e-6)
    for i in range(len(space)):
        moved = state.copy()
        moved[:, i] += 1e-3
        slopes = {name: float(quantity(moved, state)[0]) / 1e-3 for name, quantity in domain.error_metrics.items()}
        measured = [domain.transition_tolerances[name] / slope for name, slope in slopes.items() if slope > 1e-6]
        found[i] = min(measured, default=found[i])
    return found


def _log_opinions(product: Product, field: int, members: list[int]) -> np.ndarray:
    """Logarithms (M, N, B) of each member's opinion on each distinguishable value; flat where it says nothing."""
    truth = product.differences[:, field]
    foreseen = product.values[members] - product.transitions.before[:, field]
    away = (foreseen - truth) / product.tolerances[field]
    return np.where(np.isfinite(away)[..., None], log_bump(OFFSETS - np.nan_to_num(away)[..., None]), 0.0)


def _log_likelihoods(
    product: Product, field: int, weights: np.ndarray, opinions: np.ndarray, members: list[int]
) -> np.ndarray:
    """Logarithms (N, B) of the normalised product; where no member speaks, the field is taken to stay."""
    mixed = np.einsum("m,mnb->nb", weights, opinions)
    silent = np.asarray(~np.isfinite(product.values[members]).any(axis=0))
    stays = log_bump(OFFSETS + (product.differences[:, field] / product.tolerances[field])[:, None])
    mixed = np.where(silent[:, None], stays, mixed)
    return mixed - np.logaddexp.reduce(mixed, axis=1, keepdims=True)


def surprise(product: Product) -> Float[np.ndarray, " N"]:
    """-log p of what happened, of the field that surprises most among those that a program is asked to foresee."""
    centre = len(OFFSETS) // 2
    found = []
    for field in np.flatnonzero(product.expected).tolist():
        name = product.names[field]
        members = product.of_field(name)
        opinions = _log_opinions(product, field, members)
        found.append(-_log_likelihoods(product, field, product.weights[members], opinions, members)[:, centre])
    return np.max(found, axis=0)


def fit_weights(product: Product, penalty: float) -> Product:
    """Weights of highest likelihood under an L1 penalty, by L-BFGS with a strong Wolfe line search;
    none is negative.
    """
    weights = product.weights.copy()
    for field, name in enumerate(product.names):
        members = product.of_field(name)
        if members:
            weights[members] = _fitted(product, field, members, penalty)
    return replace(product, weights=weights)


def _fitted(product: Product, field: int, members: list[int], penalty: float) -> np.ndarray:
    opinions, centre = _log_opinions(product, field, members), len(OFFSETS) // 2
    heard = np.isfinite(product.values[members]).any(axis=0)

    def cost(weights: np.ndarray) -> tuple[float, np.ndarray]:
        logs = _log_likelihoods(product, field, weights, opinions, members)
        expected = np.einsum("nb,mnb->mn", np.exp(logs), opinions)
        slope = ((expected - opinions[:, :, centre]) * heard).sum(axis=1) + penalty
        return float(-logs[heard, centre].sum() + penalty * weights.sum()), slope

    bounds = [(0.0, None)] * len(members)
    return scipy.optimize.minimize(cost, product.weights[members], jac=True, method="L-BFGS-B", bounds=bounds).x


def wrapped(study: Study, product: Product) -> str:
    """The product's mode as one program: for every field the foreseen value that
    all experts together find likeliest.
    """
    header = f'"""Experts written by {study.client.model} in a {study.method} search, multiplied."""'
    made = "\n\n".join(
        f"{expert.factory(f'make_{i}')}\nexpert_{i} = make_{i}()\n" for i, expert in enumerate(product.experts)
    )
    rows = []
    for field, name in enumerate(product.names):
        spoken = ", ".join(f"(expert_{i}, {product.weights[i]:.6g})" for i in product.of_field(name))
        rows.append(f'    "{name}": ({product.tolerances[field]:.6g}, [{spoken}]),')
    table = "\n".join(
        ["# field: its tolerance, and the experts that foresee it with their weights", "EXPERTS = {", *rows, "}"]
    )
    space = study.domain.scene.state_space
    parts = [header, "\n".join(IMPORTS), state_text(space), made, table, mode_text()]
    return "\n\n\n".join(part.strip("\n") for part in parts if part) + "\n"


# An opinion is a bump around the foreseen value, over a floor that lets an expert be wrong;
# a program holds these two as they stand.


def log_bump(distance):
    """The logarithm of an opinion so many tolerances away from the foreseen value."""
    return np.log((1 - 1e-6) * np.exp(-np.minimum(distance * distance / 0.18, 100.0)) + 1e-6)


def likeliest(now, tolerance, opinions):
    """The foreseen value that all experts together find likeliest; where none speaks, the value stays."""
    spoken = [(value, weight) for value, weight in opinions if value is not None]
    if len(spoken) < 2:
        return spoken[0][0] if spoken else now
    best, best_score = now, -math.inf
    for value, _ in spoken:
        score = sum(weight * log_bump((value - other) / tolerance) for other, weight in spoken)
        best, best_score = np.where(score > best_score, value, best), np.maximum(score, best_score)
    return best


STEP = '''def step(state, action):
    """Every field becomes what its experts together find likeliest."""
    after = {}
    for name, (tolerance, experts) in EXPERTS.items():
        opinions = [(expert(state, action), weight) for expert, weight in experts]
        after[name] = likeliest(state._asdict()[name], tolerance, opinions)
    return State(**after)
'''


def mode_text() -> str:
    """The functions as they stand in a program."""
    return "\n\n".join([*(inspect.getsource(function) for function in (log_bump, likeliest)), STEP])
