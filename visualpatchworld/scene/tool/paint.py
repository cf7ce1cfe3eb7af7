"""Colour segmentation: how much of each pixel belongs to each paint, whatever the light."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

Rgb = tuple[int, int, int]

LEVEL_BITS = 6  # colours are looked up at 64 levels a channel
LARGEST_GAIN = 1.6  # a picture that would need more is not one of this world


@dataclass(frozen=True)
class Paint:
    """A named colour with the shades it takes where light, outlines and edges change it."""

    name: str
    shades: tuple[Rgb, ...]


@dataclass(frozen=True)
class Palette:
    """Every paint of a world, and the background's colour, against which the light of a picture is measured.

    `softness` is the distance between colours, in levels of 255, at which membership fades: small where paints are alike.
    """

    paints: tuple[Paint, ...]
    background: Rgb
    softness: float = 30.0
    background_percentile: float = 50.0  # of each channel's levels, at which a picture shows its background

    def masks(self, image: UInt8[np.ndarray, "h w 3"]) -> Mapping[str, Float[np.ndarray, "h w"]]:
        """For every paint the share of each pixel that it covers, from 0 to 1."""
        levels = [lookup[image[..., channel]] for channel, lookup in enumerate(self._levels(image))]
        shares = _table(self)[levels[0] + levels[1] + levels[2]]
        return {paint.name: shares[..., i] for i, paint in enumerate(self.paints)}

    def _levels(self, image: np.ndarray) -> list[np.ndarray]:
        """For every channel the place in the table that each of its 256 values has, once the light is evened out."""
        seen = np.percentile(image[::4, ::4].reshape(-1, 3), self.background_percentile, axis=0)
        # A background that is white already can not say whether the light has grown.
        gains = np.clip(np.array(self.background) / np.maximum(seen, 1.0), 1 / LARGEST_GAIN, LARGEST_GAIN)
        values = np.minimum(np.arange(256) * gains[:, None], 255).astype(np.int32) >> (8 - LEVEL_BITS)
        return [values[channel] << (LEVEL_BITS * (2 - channel)) for channel in range(3)]


@functools.lru_cache(maxsize=16)
def _table(palette: Palette) -> Float[np.ndarray, "colors paints"]:
    """The shares of every paint for every colour there is: a soft choice of the nearest shade."""
    step = 256 >> LEVEL_BITS
    axis = (np.arange(0, 256, step) + step / 2 - 0.5).astype(np.float32)
    colors = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    nearest = [
        np.min([((colors - np.array(shade, np.float32)) ** 2).sum(-1) for shade in paint.shades], axis=0) for paint in palette.paints
    ]
    squared = np.stack(nearest, axis=-1) / (2 * palette.softness**2)
    weights = np.exp(squared.min(axis=-1, keepdims=True) - squared)
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)
