"""What lies flat: a disc or a block, whose template is laid over every picture, and walls,
which never move and are measured once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from visualpatchworld.extras import cv2
from visualpatchworld.scene.schema import Geometry, Pose, SceneObject
from visualpatchworld.scene.tool.look import (
    Camera,
    Masks,
    Measures,
    Numbers,
    PaintedPart,
    Part,
    Sighting,
    largest_patch,
    rotation,
)
from visualpatchworld.scene.tool.template import Template, convex_parts, corners, inset, place, width_of

CELLS_PER_PX = 2
COVER_LEVELS = 200
LEAST_AGREEMENT = 0.6  # of template and mask: less, and it is something else or half hidden
LEAST_UNCOVERED = 0.4


@dataclass(frozen=True)
class Shape(PaintedPart):
    """`rim` is the width of a line drawn along its edge, half of it outside;
    a `glow` fades, its radius is its deviation.
    """

    turns: bool = False
    behind: tuple[str, ...] = ()  # paints that may hide it
    rim: float = 0.0
    glow: bool = False

    @property
    def periods(self) -> Mapping[str, float]:
        return {f"{self.object}.pose.angle": 2 * math.pi} if self.turns else {}

    def measure(self, pictures: Sequence[Masks], known: Sequence[Numbers], camera: Camera) -> Measures:
        poses = np.array([self._pose(numbers) for numbers in known])
        reach = max(self._reach(masks, pose, camera) for masks, pose in zip(pictures, poses, strict=True))
        cell = 1.0 / (CELLS_PER_PX * camera.pixels_per_unit(poses[0, :2]))
        half = math.ceil(reach / cell) + 2 * CELLS_PER_PX
        axis = np.arange(-half, half + 1) * cell
        grid = np.stack(np.meshgrid(axis, axis), axis=-1)
        total, seen = np.zeros(grid.shape[:2]), np.full(grid.shape[:2], 1e-6)
        for masks, (x, y, angle) in zip(pictures, poses, strict=True):
            where = camera.project(grid @ rotation(angle) + [x, y]).astype(np.float32)
            weight = 1.0 - cv2.remap(self._hidden(masks), where, None, cv2.INTER_LINEAR, borderValue=1.0)  # pyright: ignore
            total += weight * cv2.remap(masks[self.paint], where, None, cv2.INTER_LINEAR)  # pyright: ignore
            seen += weight
        # Rounded, a calibration packs small.
        template = Template(np.round(total / seen * COVER_LEVELS) / COVER_LEVELS, cell)
        return {"cover": template.cover, "cell": np.array(cell), "edge": corners(template, 0.5)}

    def objects(self, measures: Measures) -> tuple[SceneObject, ...]:
        template = self.template(measures)
        return (SceneObject(name=self.object, kind=self.kind, geometry=self._geometry(template, measures["edge"])),)

    def see(self, masks: Masks, camera: Camera, measures: Measures, so_far: Sighting) -> Sighting:
        patch = largest_patch(masks[self.paint])
        if patch is None:
            return Sighting(hidden=(self.object,))
        template = self.template(measures)
        placed = place(masks[self.paint], self._hidden(masks), camera, template, self.turns, patch)
        if placed.agreement < LEAST_AGREEMENT or placed.uncovered < LEAST_UNCOVERED:
            return Sighting(hidden=(self.object,))
        x, y, angle = (float(value) for value in placed.pose)
        numbers = {f"{self.object}.pose.x": x, f"{self.object}.pose.y": y}
        if self.turns:
            numbers[f"{self.object}.pose.angle"] = angle % (2 * math.pi)
        edge = measures["edge"] @ rotation(angle) + [x, y]
        return Sighting(numbers, outlines={self.object: (camera.project(np.concatenate([edge, edge[:1]])),)})

    @staticmethod
    def template(measures: Measures) -> Template:
        """The measured template; it is kept, since what it prepares serves every picture."""
        return _template(measures["cover"].tobytes(), len(measures["cover"]), float(measures["cell"]))

    def _geometry(self, template: Template, edge: np.ndarray) -> Geometry:
        if self.glow:
            # The mask ends where the glow is at half its height, which is further out than one deviation.
            return Geometry(radius=width_of(template, 0.5) / math.sqrt(2 * math.log(2)))
        if not self.turns:
            return Geometry(radius=width_of(template, 0.5) - self.rim / 2)
        polygons = convex_parts(inset(edge, self.rim / 2))
        return Geometry(polygons=tuple(tuple((float(x), float(y)) for x, y in part) for part in polygons))

    def _hidden(self, masks: Masks) -> np.ndarray:
        return sum((masks[paint] for paint in self.behind), start=np.zeros_like(masks[self.paint]))

    def _pose(self, numbers: Numbers) -> tuple[float, float, float]:
        angle = numbers[f"{self.object}.pose.angle"] if self.turns else 0.0
        return numbers[f"{self.object}.pose.x"], numbers.get(f"{self.object}.pose.y", 0.0), angle

    def _reach(self, masks: Masks, pose: np.ndarray, camera: Camera) -> float:
        """How far the shape extends from its known origin."""
        patch = largest_patch(masks[self.paint])
        if patch is None:
            return 0.0
        rows, columns = np.nonzero(patch)
        return float(
            np.linalg.norm(camera.ground(np.column_stack([columns, rows]).astype(float)) - pose[:2], axis=1).max()
        )


@functools.lru_cache(maxsize=32)
def _template(cover: bytes, size: int, cell: float) -> Template:
    return Template(np.frombuffer(cover).reshape(size, size), cell)


LEAST_SHARE = 0.3  # of the strongest line: less is no line
SMALLEST_DOOR_PX = 4


@dataclass(frozen=True)
class Walls(Part):
    """The outermost lines are four walls, or the `border` of one room where it has a name;
    a line between is `wall`, a gap `door`.
    """

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
        return {
            "x": _to_world(upright, camera, 0),
            "y": _to_world(level, camera, 1),
            "door": _to_world(gaps, camera, 1),
        }

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
    """The beginning and the end of every line that stands out of a profile, in pixels;
    half-covered pixels count half.
    """
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
    found = [
        (start - 0.5, end - 0.5)
        for start, end in zip(edges[::2], edges[1::2], strict=True)
        if end - start >= SMALLEST_DOOR_PX
    ]
    return np.array(found).reshape(-1, 2)


def _to_world(spans: Float[np.ndarray, "N 2"], camera: Camera, axis: int) -> Float[np.ndarray, "N 2"]:
    """Spans along one side of the picture in the world's unit."""
    pixels = np.zeros((*spans.shape, 2))
    pixels[..., axis] = spans
    return camera.ground(pixels)[..., axis]


def _box(name: str, kind: str, across: Sequence[float], down: Sequence[float]) -> SceneObject:
    (left, right), (top, bottom) = map(float, across), map(float, down)
    pose = Pose(x=(left + right) / 2, y=(top + bottom) / 2)
    return SceneObject(
        name=name,
        kind=kind,
        fixed=True,
        pose=pose,
        geometry=Geometry(half_sizes=((right - left) / 2, (bottom - top) / 2)),
    )
