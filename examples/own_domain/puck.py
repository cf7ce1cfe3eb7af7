"""A world of one's own in one file: a puck that MuJoCo moves. No law
of it is written here; the engine has them, and induction finds them.

`python examples/own_domain/puck.py` recovers its program and plans in it; `VPW_DOMAINS=examples/own_domain/puck.py vpw
run puck` does, too.
"""

# pyright: reportAttributeAccessIssue=false

from dataclasses import dataclass

import numpy as np

from visualpatchworld.domain import Domain
from visualpatchworld.graphics import mujoco
from visualpatchworld.scene.state import StateSpace
from visualpatchworld.simulator import Constants, Simulator, constant

MODEL = """
<mujoco>
  <option timestep="0.1" gravity="0 0 0"><flag eulerdamp="disable"/></option>
  <default><joint type="slide" damping="{drag}"/><motor gear="{push}"/></default>
  <worldbody>
    <body><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/><geom size="0.4" mass="1"/></body>
  </worldbody>
  <actuator><motor joint="x"/><motor joint="y"/></actuator>
</mujoco>
"""


@dataclass(frozen=True)
class PuckConstants(Constants):
    """What `--vary` may change; induction is never told."""

    push: float = constant(4.0, "N", "force at full action", low=0.1, high=20.0)
    drag: float = constant(0.6, "N s/m", "resistance of the ice", low=0.0, high=5.0)


class Puck(Simulator):
    """A ball of 1 kg that slides along two axes."""

    state_space = StateSpace.of(puck_x="m", puck_y="m", puck_vx="m/s", puck_vy="m/s")
    action_dim = 2

    def __init__(self, constants: PuckConstants = PuckConstants(), render_mode: str | None = None):
        super().__init__(constants, render_mode)
        self._model = mujoco.MjModel.from_xml_string(MODEL.format(push=constants.push, drag=constants.drag))
        self._data = mujoco.MjData(self._model)

    def get_engine_state(self) -> np.ndarray:
        return np.concatenate([self._data.qpos, self._data.qvel])

    def set_engine_state(self, engine_state: np.ndarray) -> None:
        self._data.qpos, self._data.qvel = np.split(np.asarray(engine_state), 2)

    def sample_start(self, rng: np.random.Generator) -> None:
        self.set_engine_state(np.concatenate([rng.uniform(-3.0, 3.0, 2), np.zeros(2)]))

    def advance(self, action: np.ndarray) -> None:
        self._data.ctrl = action
        mujoco.mj_step(self._model, self._data)


DOMAIN = Domain(name="puck", simulator=Puck, constants=PuckConstants(), goals={"at_goal": {"puck_m": 0.3}})


if __name__ == "__main__":
    import visualpatchworld as vpw

    traces = vpw.collect(DOMAIN, episodes=15, seed=0)
    found = vpw.induce(DOMAIN, traces)
    print(found.evidence, "\n")
    print(found.program.text)
    print("The answer, which induction was not told:", DOMAIN.constants, "\n")
    print(vpw.evaluate(DOMAIN, found.program, traces, tasks=10))
