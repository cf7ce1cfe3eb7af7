"""A PushT program inside stable-worldmodel's own evaluation: as a policy, or as the cost of one of its solvers.

Needs an environment of its own:
    pip install visualpatchworld stable-worldmodel pygame pymunk shapely opencv-python-headless h5py hdf5plugin
    'imageio[ffmpeg]'
Run: python evaluate.py --program world_model.py --traces pusht.h5 --by policy
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import stable_worldmodel as swm

import visualpatchworld as vpw
from visualpatchworld.plan.stable_worldmodel import ProgramCost, ProgramPolicy, make_solver

try:
    from stable_worldmodel import solver as solvers
except ImportError:  # where later versions keep them
    from stable_worldmodel.planning import solver as solvers

BUDGET_PER_OFFSET = 2  # steps allowed for each step that lies between start and goal
SOLVERS = {"cem": "CEMSolver", "icem": "ICEMSolver", "mppi": "MPPISolver"}


class Resting(swm.policy.BasePolicy):
    """A floor: nothing is done."""

    def get_action(self, obs, **_):
        return np.zeros(self.env.action_space.shape, np.float32)


def make_policy(by: str, program: vpw.Program, seed: int, rounds: int):
    """What acts: the program's own planner, one of their solvers with the program as its cost, or a floor."""
    domain = vpw.load_domain("pusht")
    if by == "zero":
        return Resting()
    if by == "random":
        return swm.policy.RandomPolicy(seed=seed)
    if by == "policy":
        return ProgramPolicy(program, domain.cost, domain.planner, action_dim=2, seed=seed)
    cost = ProgramCost(program, domain.cost, action_dim=2)
    solver = make_solver(getattr(solvers, SOLVERS[by]), cost, num_samples=300, n_steps=rounds, topk=30, seed=seed)
    config = swm.PlanConfig(horizon=25, receding_horizon=25, action_block=1)
    return swm.policy.WorldModelPolicy(solver=solver, config=config)


def draw_tasks(lengths: np.ndarray, count: int, offset: int, seed: int) -> tuple[list[int], list[int]]:
    """Episodes and starts in the last fifth of a file, which no program has seen that was fitted to it."""
    kept = range(len(lengths) - max(1, round(len(lengths) / 5)), len(lengths))
    places = [(episode, step) for episode in kept for step in range(int(lengths[episode]) - offset)]
    chosen = np.sort(np.random.default_rng(seed).choice(len(places), count, replace=False))
    return [places[i][0] for i in chosen], [places[i][1] for i in chosen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--traces", type=Path, required=True, help="episodes in the LeWM layout")
    parser.add_argument("--by", choices=("policy", *SOLVERS, "random", "zero"), default="policy")
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--offset", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=30, help="of a solver's search")
    parser.add_argument("--seed", type=int, default=42)
    asked = parser.parse_args()

    program = vpw.load_program(vpw.load_domain("pusht"), asked.program)
    dataset = swm.data.load_dataset(str(asked.traces.resolve()))
    episodes, starts = draw_tasks(dataset.lengths, asked.episodes, asked.offset, asked.seed)
    world = swm.World("swm/PushT-v1", num_envs=asked.episodes, image_shape=(64, 64), max_episode_steps=10**6)
    policy = make_policy(asked.by, program, asked.seed, asked.rounds)
    world.set_policy(policy)
    began = time.perf_counter()
    found = world.evaluate(
        dataset=dataset,
        episodes_idx=episodes,
        start_steps=starts,
        goal_offset=asked.offset,
        eval_budget=BUDGET_PER_OFFSET * asked.offset,
        callables=[
            {"method": "_set_state", "args": {"state": {"value": "state"}}},
            {"method": "_set_goal_state", "args": {"goal_state": {"value": "goal_state"}}},
        ],
    )
    told = {
        "by": asked.by,
        "program": program.hash,
        "traces": asked.traces.name,
        "n": asked.episodes,
        "offset": asked.offset,
    }
    told |= {"seed": asked.seed, "success": found["success_rate"], "seconds": round(time.perf_counter() - began, 1)}
    print(json.dumps(told | {"plans": policy.plans_made} if isinstance(policy, ProgramPolicy) else told))


if __name__ == "__main__":
    main()
