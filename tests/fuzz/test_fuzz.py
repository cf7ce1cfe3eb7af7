"""A few hundred mutations of every kind of input: no traceback, no
second line, no half-written file; `scripts/fuzz` does thousands.
"""

from pathlib import Path

import pytest
from fuzz.attempt import Attempt
from fuzz.campaign import Outcome, prepare, run_campaign, summary
from fuzz.inputs import make_logs
from fuzz.kinds import LOGS, Kind

COUNT, AT_ONCE = 300, 50
PER_KIND = 25


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("good"))


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_damaged_inputs_end_in_a_sentence(first: int, pristine: Path, tmp_path: Path):
    check(list(run_campaign(pristine, tmp_path, range(first, first + AT_ONCE))), at_least=AT_ONCE // 4 + 1)


@pytest.mark.parametrize("kind", LOGS, ids=lambda kind: kind.name)
def test_damaged_logs_end_in_a_sentence(kind: Kind, tmp_path: Path):
    make_logs(tmp_path / "good" / "logs")
    check(list(run_campaign(tmp_path / "good", tmp_path / "damaged", range(PER_KIND), [kind])), at_least=1)


def check(outcomes: list[Outcome], *, at_least: int) -> None:
    failed = [str(outcome) for outcome in outcomes if outcome.complaints]
    assert not failed, "\n\n".join(failed)
    assert sum(outcome.refused for outcome in outcomes) >= at_least, summary(outcomes)  # else nothing was damaged


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
