"""Figures, drawn with matplotlib from result files alone."""

from visualpatchworld.extras import need

need("report")
