"""Pictures to judge the tool path by: states that policies and
planning produce, the rare ones among them more often than they occur.

python scripts/hard_pictures.py DOMAIN FILE.npz --seed 1 --pictures 1000
vpw audit DOMAIN --frames FILE.npz
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from visualpatchworld.domain import Domain, load_domain
from visualpatchworld.simulator import Simulator
from visualpatchworld.trace.episode import Episode, collect

STEPS_PER_EPISODE = 8  # pictures taken of one episode
SHARES = {"policy": 0.4, "macros": 0.3, "placed": 0.3}
MACRO_STEPS, MOST_MACROS = 5, 5

Draw = Callable[[Simulator, np.random.Generator], None]


def draw(domain: Domain, seed: int, pictures: int) -> dict[str, np.ndarray]:
    """Pictures and their states, with the kind of each."""
    rng = np.random.default_rng(seed)
    counts = {kind: round(share * pictures) for kind, share in SHARES.items()}
    num_episodes = -(-max(counts.values()) // STEPS_PER_EPISODE)
    episodes = list(collect(domain, domain.constants, episodes=num_episodes, seed=seed))
    world = domain.make()
    frames, states, kinds = [], [], []
    for kind, count in counts.items():
        for _ in zip(range(count), _worlds(kind, world, domain, episodes, rng), strict=False):
            frames.append(world.render())
            states.append(world.get_state())
            kinds.append(kind)
            if len(frames) % 100 == 0:
                print(f"{domain.name}: {len(frames)} of {pictures}", flush=True)
    ends = np.cumsum([column.width for column in domain.layout.state])
    parts = np.split(np.array(states), ends[:-1], axis=1)
    columns = {column.name.replace("/", "_"): part for column, part in zip(domain.layout.state, parts, strict=True)}
    return {"frames": np.array(frames), "kind": np.array(kinds), **columns}


def _worlds(
    kind: str, world: Simulator, domain: Domain, episodes: list[Episode], rng: np.random.Generator
) -> Iterator[None]:
    """Puts the world into one state after the other."""
    i = 0
    while True:
        episode = episodes[i % len(episodes)]
        i += 1
        world.set_goal(episodes[rng.integers(len(episodes))].observations[-1] if rng.random() < 0.5 else None)
        if kind == "placed":
            PLACED[domain.name](world, rng)
            yield
            continue
        world.set_engine_state(episode.engine_states[rng.integers(episode.num_rows)])
        if kind == "macros":
            for _ in range(rng.integers(1, MOST_MACROS + 1)):
                for action in _macro(episodes, world.action_dim, rng):
                    world.step(action)
        yield


def _macro(episodes: list[Episode], action_dim: int, rng: np.random.Generator) -> np.ndarray:
    """Actions out of another episode, or one at random that is held."""
    if rng.random() < 0.5:
        actions = episodes[rng.integers(len(episodes))].actions
        first = rng.integers(max(len(actions) - MACRO_STEPS, 1))
        return actions[first : first + MACRO_STEPS]
    return np.tile(np.clip(rng.normal(0.0, 0.5, action_dim), -1.0, 1.0), (MACRO_STEPS, 1))


def _place_tworoom(world: Simulator, rng: np.random.Generator) -> None:
    """Beside the wall, in the door and in corners, where lines cut the dot."""
    low, high = 21.0, 203.0
    near = rng.choice(["wall", "door", "border"])
    x, y = rng.uniform(low, high, 2)
    if near == "wall":
        x = 112.0 + rng.choice([-1, 1]) * rng.uniform(8.0, 20.0)
    elif near == "door":
        x = rng.uniform(95.0, 130.0)
    else:
        x, y = np.where(rng.random(2) < 0.6, rng.choice([low, high], 2), [x, y])
    world.reset(options={"state": np.array([x, y])})
    for _ in range(2):
        world.step(rng.uniform(-1, 1, 2))


def _place_pusht(world: Simulator, rng: np.random.Generator) -> None:
    """The block at a wall or anywhere, the agent at its outline,
    pressed into it, at the table's edge or over the goal.
    """
    block = np.array([*rng.uniform(40.0, 470.0, 2), rng.uniform(0, 2 * np.pi)])
    near = rng.choice(["block", "wall", "goal"])
    if near == "goal":
        agent = rng.normal(256.0, 60.0, 2)
    elif near == "wall":
        agent = np.where(rng.random(2) < 0.6, rng.choice([18.0, 494.0], 2), rng.uniform(20.0, 490.0, 2))
    else:
        agent = block[:2] + rng.normal(0.0, 70.0, 2)
    world.reset(options={"state": np.array([*np.clip(agent, 15, 497), *block, 0, 0])})
    toward = block[:2] - world.get_state()[:2]
    for _ in range(rng.integers(1, 6)):
        world.step(np.clip(toward / 100 + rng.normal(0, 0.3, 2), -1, 1))


def _place_reacher(world: Simulator, rng: np.random.Generator) -> None:
    """Folded, stretched, or anyhow."""
    wrist = rng.choice(
        [rng.choice([-1, 1]) * np.radians(rng.uniform(140, 160)), rng.normal(0, 0.1), rng.uniform(-2.7, 2.7)]
    )
    world.set_engine_state(np.array([rng.uniform(-np.pi, np.pi), wrist, 0.0, 0.0]))


def _place_cube(world: Simulator, rng: np.random.Generator) -> None:
    """The hand above, around or before the block, holding it or letting it fall."""
    half = 0.02
    block, yaw = rng.uniform([0.28, -0.32], [0.58, 0.32]), rng.uniform(-np.pi, np.pi)
    near = rng.choice(["above", "around", "before", "held", "dropped"])
    if near in ("held", "dropped"):
        z = rng.uniform(0.03, 0.35)
        hand = [*block, z + rng.uniform(-0.008, 0.012)]
        slide = rng.uniform(-0.01, 0.01)
        state = [*hand, yaw, 0.4, 1.0, block[0] - slide * np.sin(yaw), block[1] + slide * np.cos(yaw), z, yaw]
        world.reset(options={"state": np.array(state)})
        for _ in range(3):
            world.step(np.array([*rng.uniform(-0.6, 0.6, 3), 0.0, 1.0]))
        if near == "dropped":
            for _ in range(rng.integers(1, 6)):
                world.step(np.array([*rng.uniform(-0.5, 0.5, 3), 0.0, -1.0]))
        return
    opening = rng.choice([0.0, 0.9, rng.random()])
    if near == "above":
        hand, turned = [*(block + rng.normal(0, 0.02, 2)), rng.uniform(0.06, 0.2)], rng.uniform(-np.pi, np.pi)
    elif near == "around":
        hand, turned, opening = [*block, rng.uniform(0.015, 0.05)], yaw, 0.0
    else:
        hand = [block[0] + rng.uniform(0.05, 0.15), block[1] + rng.normal(0, 0.04), rng.uniform(0.03, 0.2)]
        turned = rng.uniform(-np.pi, np.pi)
    world.reset(options={"state": np.array([*hand, turned, opening, 0.0, *block, half, yaw])})
    for _ in range(2):
        world.step(np.array([*rng.uniform(-0.3, 0.3, 4), 2 * opening - 1]))


PLACED: dict[str, Draw] = {
    "tworoom": _place_tworoom,
    "pusht": _place_pusht,
    "reacher": _place_reacher,
    "cube": _place_cube,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("domain", choices=sorted(PLACED))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--pictures", type=int, default=1000)
    chosen = parser.parse_args()
    drawn: dict[str, Any] = draw(load_domain(chosen.domain), chosen.seed, chosen.pictures)
    np.savez_compressed(chosen.file, **drawn)


if __name__ == "__main__":
    main()
