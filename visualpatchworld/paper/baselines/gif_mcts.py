"""GIF-MCTS: a tree of programs whose edges are edits (generate, improve, fix),
searched by UCT with estimates for edits not tried yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from visualpatchworld.paper.baselines.study import Candidate, Method, Study

PRIORS = {"generate": 0.5, "improve": 0.55, "fix": 0.5}  # what an edit is worth before any was tried


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


METHODS = (GifMcts(),)
