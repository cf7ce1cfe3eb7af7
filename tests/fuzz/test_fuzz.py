"""A few hundred mutations of every kind of input: no traceback, no
second line, no half-written file; `scripts/fuzz` does thousands.
"""

from pathlib import Path

import pytest
from fuzz.attempt import Attempt
from fuzz.campaign import prepare, run_campaign, summary

COUNT, AT_ONCE = 300, 50


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_damaged_inputs_end_in_a_sentence(first: int, pristine: Path, tmp_path: Path):
    outcomes = list(run_campaign(pristine, tmp_path, range(first, first + AT_ONCE)))
    failed = [str(outcome) for outcome in outcomes if outcome.complaints]
    assert not failed, "\n\n".join(failed)
    assert sum(outcome.refused for outcome in outcomes) > AT_ONCE // 4, summary(outcomes)  # else nothing was damaged


@pytest.mark.parametrize(
    ("attempt", "complaint"),
    [
        (Attempt(1, "", "This is a mistake in vpw\n"), "ended with 1"),
        (Attempt(2, "", "one\ntwo\n"), "one line"),
        (Attempt(2, "", ""), "one line"),
        (Attempt(0, '{"a": NaN}', ""), "not strict JSON"),
        (Attempt(0, '{"a": "\\ud800"}', ""), "not strict JSON"),
        (Attempt(0, "{}", "Traceback (most recent call last)"), "traceback"),
        (Attempt(None, "", "", "ValueError"), "ValueError"),
    ],
)
def test_what_a_user_should_not_see_is_complained_of(attempt: Attempt, complaint: str, tmp_path: Path):
    assert complaint in "".join(attempt.complaints(["scene", "--json"], tmp_path))
    (tmp_path / ".a.h5.1.part").touch()
    assert "left behind" in "".join(attempt.complaints(["scene"], tmp_path))
