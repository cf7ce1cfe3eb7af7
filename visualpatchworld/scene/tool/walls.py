"""What never moves: straight lines along the picture's sides, a border, a wall and its door, measured once from all pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.tool.look import Camera, Masks, Measures, Numbers, Part, Sighting

LEAST_SHARE = 0.3  # of the strongest line: less is no line
SMALLEST_DOOR_PX = 4


@dataclass(frozen=True)
class Walls(Part):
    """The outermost lines are four walls, or the `border` of one room where it has a name; a line between is `wall`, a gap `door`."""

    paint: str
    border: str = ""
    wall: str = ""
    door: str = ""

    @property
    def name(self) -> str:
        return self.paint

    def locate(self, masks: Masks) -> np.ndarray | None:
        return None

    def measure(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera) -> Measures:
        still = np.median([masks[self.paint] for masks in pictures[:: max(len(pictures) // 40, 1)]], axis=0)
        upright, level = _lines(still.mean(axis=0)), _lines(still.mean(axis=1))
        if len(upright) < 2 or len(level) < 2:
            return {"x": np.zeros((0, 2)), "y": np.zeros((0, 2)), "door": np.zeros((0, 2))}
        inner = upright[1:-1]
        gaps = _gaps(still[:, round(float(inner[0].mean()))], level) if self.wall and len(inner) else np.zeros((0, 2))
        return {"x": _to_world(upright, camera, 0), "y": _to_world(level, camera, 1), "door": _to_world(gaps, camera, 1)}

    def objects(self, measures: Measures) -> tuple[SceneObject, ...]:
        across, down = measures["x"], measures["y"]
        if len(across) < 2 or len(down) < 2:
            return ()
        if not self.border:
            return self._four_walls(across, down)
        left, right, top, bottom = across[0, 1], across[-1, 0], down[0, 1], down[-1, 0]
        parts = [_box(self.border, "border", (left, right), (top, bottom))]
        if self.wall and len(across) > 2:
            parts.append(_box(self.wall, "wall", across[1], (top, bottom)))
            parts += [_box(self.door, "door", across[1], gap) for gap in measures["door"][:1]]
        return tuple(parts)

    def see(self, masks: Masks, camera: Camera, measures: Measures, so_far: Sighting) -> Sighting:
        return Sighting()

    @staticmethod
    def _four_walls(across: np.ndarray, down: np.ndarray) -> tuple[SceneObject, ...]:
        x, y = across[[0, -1]].mean(axis=1), down[[0, -1]].mean(axis=1)
        half_x, half_y = float(np.ptp(x)) / 2, float(np.ptp(y)) / 2
        radius = float(np.concatenate([np.ptp(across, axis=1), np.ptp(down, axis=1)]).mean()) / 2
        places = {
            "left": (x[0], y.mean(), 0.0, half_y),
            "top": (x.mean(), y[0], half_x, 0.0),
            "right": (x[1], y.mean(), 0.0, half_y),
            "bottom": (x.mean(), y[1], half_x, 0.0),
        }
        return tuple(
            SceneObject(
                name=f"{side}_wall",
                kind="wall",
                fixed=True,
                pose=Pose(x=float(at_x), y=float(at_y)),
                geometry=Geometry(segment=((-to_x, -to_y), (to_x, to_y)), radius=radius),
            )
            for side, (at_x, at_y, to_x, to_y) in places.items()
        )


def _lines(profile: Float[np.ndarray, " N"]) -> Float[np.ndarray, "lines 2"]:
    """The beginning and the end of every line that stands out of a profile, in pixels; half-covered pixels count half."""
    share = profile - np.median(profile)
    strong = share > LEAST_SHARE * share.max()
    edges = np.flatnonzero(np.diff(np.concatenate([[0], strong.astype(int), [0]])))
    found = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        around = np.arange(max(start - 2, 0), min(end + 2, len(share)))
        weight = np.clip(share[around], 0, None)
        middle, width = float(weight @ around / weight.sum()), float(weight.sum() / weight.max())
        found.append((middle - width / 2, middle + width / 2))
    return np.array(found).reshape(-1, 2)


def _gaps(along: Float[np.ndarray, " N"], level: np.ndarray) -> Float[np.ndarray, "gaps 2"]:
    """Where a line is interrupted between the outermost lines that cross it, in pixels."""
    free = along < 0.5
    free[: round(float(level[0, 1])) + 1] = free[round(float(level[-1, 0])) :] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[0], free.astype(int), [0]])))
    found = [(start - 0.5, end - 0.5) for start, end in zip(edges[::2], edges[1::2], strict=True) if end - start >= SMALLEST_DOOR_PX]
    return np.array(found).reshape(-1, 2)


def _to_world(spans: Float[np.ndarray, "N 2"], camera: Camera, axis: int) -> Float[np.ndarray, "N 2"]:
    """Spans along one side of the picture in the world's unit."""
    pixels = np.zeros((*spans.shape, 2))
    pixels[..., axis] = spans
    return camera.ground(pixels)[..., axis]


def _box(name: str, kind: str, across: Sequence[float], down: Sequence[float]) -> SceneObject:
    (left, right), (top, bottom) = map(float, across), map(float, down)
    pose = Pose(x=(left + right) / 2, y=(top + bottom) / 2)
    return SceneObject(name=name, kind=kind, fixed=True, pose=pose, geometry=Geometry(half_sizes=((right - left) / 2, (bottom - top) / 2)))
