"""Pages to look at: one self-contained HTML file for a run, and one for all tables
and figures of the paper beside ours.
"""

from visualpatchworld.extras import need

need("report")
