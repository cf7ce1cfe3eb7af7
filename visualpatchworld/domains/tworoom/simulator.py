"""The Two-room world: a disc that moves by its action and is stopped by the border and by a wall with one door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from visualpatchworld.scene.state import StateSpace
from visualpatchworld.simulator import FRAME_SIZE_PX, Constants, Simulator, constant

SIZE_PX = float(FRAME_SIZE_PX)
DOOR_MARGIN_PX = 1.75
PUSH_BACK_PX = 0.5
LINE_PX = 4


@dataclass(frozen=True)
class TwoRoomConstants(Constants):
    """The house and how fast its inhabitant walks."""

    speed: float = constant(5.0, "px/step", "distance per step at full action", low=0.1, high=50.0)
    radius: float = constant(7.0, "px", "agent radius", low=1.0, high=30.0)
    wall_thickness: float = constant(10.0, "px", "thickness of the wall between the rooms", low=1.0, high=60.0)
    door_center: float = constant(49.0, "px", "y of the door's centre", low=20.0, high=204.0)
    door_half_width: float = constant(14.0, "px", "half of the door's width", low=8.0, high=80.0)
    border: float = constant(14.0, "px", "width of the border", low=2.0, high=60.0)
    wall: Literal["door", "none"] = constant("door", "", "walls with a door each, or no wall at all")
    rooms: int = constant(
        2, "", "rooms, with a wall between any two; every second door is at the other end", low=2, high=3
    )
    second_door: float = constant(
        0.0, "px", "y of a second door's centre in every wall; 0 for none", low=0.0, high=204.0
    )
    transport: Literal["linear", "cubic"] = constant("linear", "", "distance grows with the action, or with its cube")


class TwoRoom(Simulator):
    """Positions are float32, as upstream keeps them."""

    state_space = StateSpace.of(agent_x="px", agent_y="px")
    action_dim = 2
    constants: TwoRoomConstants

    def __init__(self, constants: TwoRoomConstants = TwoRoomConstants(), render_mode: str | None = "rgb_array"):
        super().__init__(constants, render_mode)
        self._position = np.full(2, SIZE_PX / 2, dtype=np.float32)

    def get_engine_state(self) -> Float[np.ndarray, " E"]:
        return self._position.astype(np.float64)

    def set_engine_state(self, engine_state: Float[np.ndarray, " E"]) -> None:
        self._position = np.asarray(engine_state, dtype=np.float32)

    def sample_start(self, rng: np.random.Generator) -> None:
        self.set_engine_state(sample_position(self.constants, rng))

    def advance(self, action: Float[np.ndarray, " A"]) -> None:
        self._position = move(self._position[None], np.asarray(action, dtype=np.float32)[None], self.constants)[0]

    def rollout(
        self, engine_state: Float[np.ndarray, " E"], actions: Float[np.ndarray, "K H A"]
    ) -> Float[np.ndarray, "K H S"]:
        position = np.repeat(np.asarray(engine_state, dtype=np.float32)[None], len(actions), axis=0)
        states = []
        for action in np.clip(np.asarray(actions, dtype=np.float32), -1, 1).swapaxes(0, 1):
            position = move(position, action, self.constants)
            states.append(position)
        return np.stack(states, axis=1).astype(np.float64)

    def draw(self) -> UInt8[np.ndarray, "224 224 3"]:
        return paint(self._position, self.constants)


def sample_position(constants: TwoRoomConstants, rng: np.random.Generator) -> np.ndarray:
    """A free position, at least a radius away from border and wall."""
    low = constants.border + constants.radius
    high = SIZE_PX - low
    while True:
        position = rng.uniform(low, high, 2)
        if all(
            abs(position[0] - wall) > constants.wall_thickness / 2 + constants.radius for wall, _ in walls(constants)
        ):
            return position


def walls(constants: TwoRoomConstants) -> list[tuple[float, tuple[float, ...]]]:
    """The x of every wall and the y of its doors' centres."""
    if constants.wall == "none":
        return []
    inner = SIZE_PX - 2 * constants.border
    first = (constants.door_center, SIZE_PX - constants.door_center)
    second = (constants.second_door,) if constants.second_door else ()
    return [
        (constants.border + inner * k / constants.rooms, (first[(k - 1) % 2], *second))
        for k in range(1, constants.rooms)
    ]


def move(
    position: Float[np.ndarray, "K 2"], action: Float[np.ndarray, "K 2"], constants: TwoRoomConstants
) -> Float[np.ndarray, "K 2"]:
    """Positions after one step: walk, stay inside the border, and do not pass the wall beside the door."""
    stride = action if constants.transport == "linear" else action**3
    moved = position + np.float32(constants.speed) * stride
    low = constants.border + constants.radius
    moved = np.clip(moved, low, SIZE_PX - low, dtype=np.float32)
    reach = constants.wall_thickness / 2 + constants.radius
    for wall, doors in walls(constants):
        beside_door = _beside(moved[:, 1], doors, constants.door_half_width + DOOR_MARGIN_PX)
        from_left = position[:, 0] < wall
        stopped_left = from_left & beside_door & (moved[:, 0] > wall - reach)
        stopped_right = ~from_left & beside_door & (moved[:, 0] < wall + reach)
        x = np.where(stopped_left, wall - reach - PUSH_BACK_PX, moved[:, 0])
        x = np.where(stopped_right, wall + reach + PUSH_BACK_PX, x)
        moved = np.stack([x, moved[:, 1]], axis=1).astype(np.float32)
    return moved


def _beside(y: np.ndarray, doors: tuple[float, ...], half_width: float) -> np.ndarray:
    """Where nothing of any door is."""
    return np.all([np.abs(y - door) > half_width for door in doors], axis=0)


def paint(position: Float[np.ndarray, " 2"], constants: TwoRoomConstants) -> UInt8[np.ndarray, "224 224 3"]:
    """White rooms, the agent a red Gaussian dot whose deviation is its radius, black lines over it."""
    pixels = np.arange(FRAME_SIZE_PX)
    across, down = (np.exp(-((pixels - center) ** 2) / (2 * constants.radius**2)) for center in position)
    fade = (255 * (1 - np.outer(down, across))).astype(np.uint8)
    image = np.stack([np.full_like(fade, 255), fade, fade], axis=-1)
    image[_lines(constants)] = 0
    return image


def _lines(constants: TwoRoomConstants) -> np.ndarray:
    """Where the border and the wall are drawn; the border's lines run through to the picture's edge."""
    pixels = np.arange(FRAME_SIZE_PX)
    low, high = constants.border, SIZE_PX - constants.border
    on_border = ((pixels >= low - LINE_PX) & (pixels < low)) | ((pixels >= high) & (pixels < high + LINE_PX))
    lines = on_border[:, None] | on_border[None, :]
    for wall, doors in walls(constants):
        on_wall = np.abs(pixels - wall) <= constants.wall_thickness / 2
        beside_door = _beside(pixels, doors, constants.door_half_width)
        lines = lines | (beside_door[:, None] & on_wall[None, :])
    return lines
