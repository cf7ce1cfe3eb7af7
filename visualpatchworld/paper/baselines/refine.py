"""Rivals that rewrite whole programs: WorldCoder, POMDP-Coder and CWM-Game draw which one to refine, PatchWorld repairs a
small beam of them, GIF-MCTS searches a tree whose edges are edits.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from visualpatchworld.paper.baselines.answer import action_kind, contrastive
from visualpatchworld.paper.baselines.study import Candidate, Method, Study

PRIORS = {"generate": 0.5, "improve": 0.55, "fix": 0.5}  # what an edit is worth before any was tried


def belief(score: float, failed_pulls: int, concentration: float) -> tuple[float, float]:
    """The Beta distribution of a program's worth:
    its score counts `concentration` times, a pull that solved nothing once.
    """
    return 1.0 + concentration * score, 1.0 + concentration * (1.0 - score) + failed_pulls


def draw(
    pool: Sequence[Candidate], failed_pulls: Mapping[int, int], concentration: float, rng: np.random.Generator
) -> Candidate:
    """The program whose drawn worth is highest."""
    worths = [
        rng.beta(*belief(candidate.score, failed_pulls.get(candidate.index, 0), concentration)) for candidate in pool
    ]
    return pool[int(np.argmax(worths))]


def some(study: Study, rows: np.ndarray | int, count: int) -> list[int]:
    """A few of these rows, or of so many."""
    num = rows if isinstance(rows, int) else len(rows)
    return study.rng.choice(rows, min(count, num), replace=False).tolist()


@dataclass(frozen=True)
class Rex(Method):
    """REx: each program is refined as often as Thompson sampling finds it worth."""

    concentration: float = 5.0  # how much a score says about the worth of refining
    num_experiences: int = 7  # that the first program is written from
    num_attempts: float = math.inf

    def search(self, study: Study) -> Candidate | None:
        """First program, then refinements of drawn ones until one is right or the budget is spent."""
        rows = some(study, len(study.train), self.num_experiences)
        newest = study.tried(study.client.ask(self.first_prompt(study, rows)), "first", None)
        failed_pulls = Counter()
        while newest.score < 1.0 and study.calls_left and len(study.candidates) < self.num_attempts:
            chosen = draw(study.candidates, failed_pulls, self.concentration, study.rng)
            newest = study.tried(study.client.ask(self.refine_prompt(study, chosen)), "refine", chosen)
            failed_pulls[chosen.index] += newest.score < 1.0
        return self.pick(study)

    def pick(self, study: Study) -> Candidate | None:
        """The program that the search ends with."""
        return study.best()

    @abstractmethod
    def first_prompt(self, study: Study, rows: list[int]) -> str:
        """What is asked for at first, from these experiences."""

    @abstractmethod
    def refine_prompt(self, study: Study, chosen: Candidate) -> str:
        """What is asked for to make a program better."""


@dataclass(frozen=True)
class WorldCoder(Rex):
    """The offline pool of REx: the model sees a few right experiences and one wrong one."""

    name: str = "worldcoder"
    num_right: int = 3
    num_wrong: int = 1

    def first_prompt(self, study: Study, rows: list[int]) -> str:
        return study.prompt("worldcoder_first", study.examples(rows))

    def refine_prompt(self, study: Study, chosen: Candidate) -> str:
        """The code, a few experiences that it explains and one that it does not, with its wrong prediction."""
        if not chosen.loads:
            return study.prompt("fix", code=chosen.code, problem=chosen.problem)
        fine = some(study, np.flatnonzero(chosen.train.right), self.num_right)
        wrong = some(study, np.flatnonzero(~chosen.train.right), self.num_wrong)
        shown = "\n".join(study.examples(fine)) or "none"
        return study.prompt(
            "worldcoder_refine", study.examples(wrong, verdict=chosen.train), code=chosen.code, right=shown
        )


@dataclass(frozen=True)
class PomdpCoder(Rex):
    """Generate, test, refine; the model sees transitions that its program holds impossible,
    beside what it gives instead.
    """

    name: str = "pomdp-coder"
    concentration: float = 20.0
    num_attempts: float = 25
    num_experiences: int = 10
    num_impossible: int = 5

    def first_prompt(self, study: Study, rows: list[int]) -> str:
        return study.prompt("pomdp_coder_first", study.examples(rows))

    def refine_prompt(self, study: Study, chosen: Candidate) -> str:
        """The code and a few transitions that are impossible under it, beside its own samples."""
        if not chosen.loads:
            return study.prompt("fix", code=chosen.code, problem=chosen.problem)
        rows = some(study, np.flatnonzero(~chosen.train.right), self.num_impossible)
        examples = study.examples(rows, verdict=chosen.train)
        return study.prompt(
            "pomdp_coder_refine", examples, code=chosen.code, coverage=f"{100 * chosen.train.score:.0f}"
        )

    def pick(self, study: Study) -> Candidate | None:
        """The program that loads with the best (test, train) coverage, the earlier one among equals."""
        loaded = [candidate for candidate in study.candidates if candidate.loads]
        return max(
            loaded, key=lambda candidate: (candidate.score, candidate.train.score, -candidate.index), default=None
        )


@dataclass(frozen=True)
class CwmGame(Rex):
    """REx as a tree: each call is a fresh prompt with one program and one unit test, a transition, that it fails."""

    name: str = "cwm-game"
    num_experiences: int = 5

    def first_prompt(self, study: Study, rows: list[int]) -> str:
        return study.prompt("cwm_game_first", unit_tests(study, rows))

    def refine_prompt(self, study: Study, chosen: Candidate) -> str:
        """The code and the trace of one failing test, whatever the kind of failure."""
        row = int(study.rng.choice(np.flatnonzero(~chosen.train.right)))
        told = chosen.train.told(study.domain, study.train, row)
        failed = f"FAILED: {'got' if chosen.train.failure_kind(row) == 'mismatch' else 'raised'} {told}"
        return study.prompt("cwm_game_refine", code=chosen.code, trace=f"{unit_tests(study, [row])[0]}\n{failed}")


def unit_tests(study: Study, rows: list[int]) -> list[str]:
    """Transitions as assertions."""
    return [f"test: {line.replace(' -> ', ' must give ')}" for line in study.examples(rows)]


GRAVITY = ("load error", "exception", "mismatch")  # the gravest first


@dataclass(frozen=True)
class PatchWorld(Method):
    """Counterexample-guided repair with a small beam."""

    name: str = "patchworld"
    most_examples: int = 60
    examples_per_kind: int = 5
    num_retries: int = 5  # where the first program does not load
    num_rounds: int = 15
    num_patches: int = 4
    num_failures: int = 16
    beam_width: int = 2
    patience: int = 2  # rounds without improvement

    def search(self, study: Study) -> Candidate | None:
        """First program, then rounds of patches until all is right, nothing improves, or the budget is spent."""
        beam, idle = [first_repaired(self, study)], 0
        for _ in range(self.num_rounds):
            if beam[0].score == 1.0 or idle == self.patience or not study.calls_left:
                break
            patches = propose(self, study, beam)
            improved, beam = accept(beam, patches, self.beam_width)
            idle = 0 if improved else idle + 1
        return study.best()


def first_repaired(method: PatchWorld, study: Study) -> Candidate:
    """A program from contrasting examples, asked for again with its error while it does not load."""
    chosen = contrastive(
        study.domain, study.train, per_kind=method.examples_per_kind, most=method.most_examples, rng=study.rng
    )
    examples = study.examples(range(len(chosen)), chosen)
    candidate = study.tried(study.client.ask(study.prompt("patchworld_first", examples)), "first", None)
    for _ in range(method.num_retries):
        if candidate.loads or not study.calls_left:
            break
        prompt = study.prompt("fix", examples, code=candidate.code, problem=candidate.problem)
        candidate = study.tried(study.client.ask(prompt), "retry", candidate)
    return candidate


def propose(method: PatchWorld, study: Study, beam: list[Candidate]) -> list[Candidate]:
    """The round's patches, members of the beam in turn; each sees its own worst failures and their diagnosis."""
    parents = [beam[i % len(beam)] for i in range(method.num_patches)]
    replies = study.client.ask_many([patch_prompt(method, study, parent) for parent in parents])
    return [study.tried(reply, "patch", parent) for reply, parent in zip(replies, parents, strict=False)]


def patch_prompt(method: PatchWorld, study: Study, parent: Candidate) -> str:
    """The code, what goes wrong with it, and the failures themselves."""
    failures = study.examples(top_failures(method, study, parent), study.held_out, parent.held_out)
    return study.prompt("patchworld_patch", failures, code=parent.code, diagnosis=diagnosis(study, parent))


def clusters(study: Study, candidate: Candidate) -> dict[tuple[str, str], list[int]]:
    """Wrong held-out transitions by kind of error and of action: the gravest kind first, then the most frequent."""
    found: dict[tuple[str, str], list[int]] = {}
    for i, fine in enumerate(candidate.held_out.right):
        if not fine:
            found.setdefault((candidate.held_out.failure_kind(i), action_kind(study.held_out.actions[i])), []).append(i)
    order = sorted(found, key=lambda key: (GRAVITY.index(key[0]), -len(found[key]), key[1]))
    return {key: found[key] for key in order}


def top_failures(method: PatchWorld, study: Study, candidate: Candidate) -> list[int]:
    """The failures to show: one of each cluster in turn, so that the largest cluster does not hide the others."""
    turns = itertools.zip_longest(*clusters(study, candidate).values())
    return [i for turn in turns for i in turn if i is not None][: method.num_failures]


def diagnosis(study: Study, candidate: Candidate) -> str:
    """How often the program is wrong, in which ways and under which actions."""
    wrong = Counter({key: len(rows) for key, rows in clusters(study, candidate).items()})
    parts = [f"{count} x {kind} under {action}" for (kind, action), count in wrong.items()]
    return f"{wrong.total()} of {len(study.held_out)} wrong: {'; '.join(parts[:8])}."


def accept(beam: list[Candidate], patches: list[Candidate], width: int) -> tuple[bool, list[Candidate]]:
    """Whether the best got strictly better, and the new beam: only patches that beat their own parent come in."""
    parents = {candidate.index: candidate for candidate in beam}
    better = [patch for patch in patches if patch.loads and _beats(patch, parents[patch.parent or 0])]
    ranked = sorted([*beam, *better], key=lambda candidate: (not candidate.loads, -candidate.score, candidate.index))
    return bool(better) and _beats(ranked[0], beam[0]), ranked[:width]


def _beats(patch: Candidate, parent: Candidate) -> bool:
    return (patch.loads, patch.score) > (parent.loads, parent.score)


@dataclass(frozen=True)
class GifMcts(Method):
    """Monte Carlo tree search over edits of code."""

    name: str = "gif-mcts"
    exploration: float = 0.1  # c of UCT
    damping: float = 1.0  # epsilon of UCT: visits that every edit is given in advance
    longest_fix_chain: int = 3
    lines_per_level: int = 2  # of a program that its children by "generate" keep
    num_experiences: int = 7
    num_failures: int = 3

    def search(self, study: Study) -> Candidate | None:
        """Select an edit, make it, judge the program and pass its accuracy up, until it is 1 or the budget is spent."""
        tree = Tree(self)
        while study.calls_left:
            parent, edit = tree.select()
            reply = study.client.ask(edit_prompt(self, study, parent, edit))
            candidate = study.tried(reply, edit, parent.candidate)
            tree.add(parent, edit, candidate)
            if candidate.score == 1.0:
                break
        return study.best()


@dataclass
class Node:
    """A program in the tree; the root has none. Visits and values count the node itself and all below it."""

    candidate: Candidate | None = None
    edit: str = ""
    parent: Node | None = None
    fixes: int = 0  # edits of kind "fix" in a row that led here
    children: list[Node] = field(default_factory=list)
    visits: int = 0
    total: float = 0.0

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1


class Tree:
    """Programs and the edits between them, with what each kind of edit was worth so far."""

    def __init__(self, method: GifMcts):
        self.method, self.root = method, Node()
        self.results = {edit: [prior] for edit, prior in PRIORS.items()}

    def edits(self, node: Node) -> list[str]:
        """What may be done with a node: a program with a bug can only be fixed, and only a few times in a row."""
        if node.candidate is None:
            return ["generate"]
        if not node.candidate.loads:
            return ["fix"] if node.fixes < self.method.longest_fix_chain else []
        return ["generate", "improve"]

    def estimate(self, node: Node, edit: str) -> float:
        """What a new child by this edit is expected to be worth:
        the mean over everywhere, mixed with its siblings-to-be.
        """
        siblings = [
            child.candidate.score for child in node.children if child.edit == edit and child.candidate is not None
        ]
        everywhere = sum(self.results[edit]) / len(self.results[edit])
        return (everywhere + sum(siblings)) / (1 + len(siblings))

    def worth(self, node: Node) -> float:
        """The mean accuracy at and below a node; a program with a bug is worth what fixing it is expected to give."""
        is_bug = node.candidate is not None and not node.candidate.loads
        return self.estimate(node, "fix") if is_bug else node.total / node.visits

    def uct(self, value: float, visits: int, parent_visits: int) -> float:
        """Value plus a bonus for what was visited little."""
        return value + self.method.exploration * math.sqrt(
            math.log(max(parent_visits, 1)) / (visits + self.method.damping)
        )

    def select(self) -> tuple[Node, str]:
        """From the root along the highest UCT, to the first edit that is a new one."""
        node = self.root
        while True:
            new = [(self.uct(self.estimate(node, edit), 0, node.visits), edit) for edit in self.edits(node)]
            old = [
                (self.uct(self.worth(child), child.visits, node.visits), child)
                for child in node.children
                if self._is_open(child)
            ]
            best_old = max(old, key=lambda pair: pair[0], default=None)
            best_new = max(new, key=lambda pair: pair[0], default=None)
            if best_new is not None and (best_old is None or best_new[0] >= best_old[0]):
                return node, best_new[1]
            assert best_old is not None, "an open node has an edit or an open child"
            node = best_old[1]

    def _is_open(self, node: Node) -> bool:
        return bool(self.edits(node)) or any(self._is_open(child) for child in node.children)

    def add(self, parent: Node, edit: str, candidate: Candidate) -> Node:
        """A new node, its accuracy passed up to the root."""
        node = Node(candidate, edit, parent, parent.fixes + 1 if edit == "fix" else 0)
        parent.children.append(node)
        self.results[edit].append(candidate.score)
        above: Node | None = node
        while above is not None:
            above.visits += 1
            above.total += candidate.score
            above = above.parent
        return node


def edit_prompt(method: GifMcts, study: Study, node: Node, edit: str) -> str:
    """The prompt of an edit."""
    candidate = node.candidate
    if candidate is None or edit == "generate":
        rows = study.rng.choice(len(study.train), min(method.num_experiences, len(study.train)), replace=False).tolist()
        return study.prompt("gif_mcts_generate", study.examples(rows), beginning=beginning(method, node))
    if edit == "fix":
        return study.prompt("fix", code=candidate.code, problem=candidate.problem)
    wrong = np.flatnonzero(~candidate.train.right)
    rows = study.rng.choice(wrong, min(method.num_failures, len(wrong)), replace=False).tolist()
    return study.prompt("gif_mcts_improve", study.examples(rows, verdict=candidate.train), code=candidate.code)


def beginning(method: GifMcts, node: Node) -> str:
    """The first lines of a node's `step`, more of them the deeper it lies; a new program goes on from there."""
    if node.candidate is None:
        return "def step(state, action):"
    _, found, body = node.candidate.text.partition("def step(")
    return "\n".join((found + body).splitlines()[: 1 + method.lines_per_level * node.depth])


METHODS = (WorldCoder(), PomdpCoder(), CwmGame(), PatchWorld(), GifMcts())
