"""VisualPatchWorld: readable programs of how a world evolves under action, from experiments and traces, and planning with them."""

from visualpatchworld.registry import register

__version__ = "0.1.0"

register()
