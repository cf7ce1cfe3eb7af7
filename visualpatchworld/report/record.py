"""What `induction.json` holds, as pages use it."""

from visualpatchworld.bench.induction_record import (
    BadRecord,
    CandidateRecord,
    InductionRecord,
    SettingsRecord,
    VerdictRecord,
    read_induction,
)

__all__ = ["BadRecord", "CandidateRecord", "InductionRecord", "SettingsRecord", "VerdictRecord", "read_induction"]
