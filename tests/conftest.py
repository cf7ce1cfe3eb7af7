"""What the tests share: the toy domain among the discovered ones,
one trace file of it, and the reference recordings where present.
"""

import os
from pathlib import Path

import pytest

from visualpatchworld.domain import Domain, find_domains, load_domain, register
from visualpatchworld.trace.episode import Episode, collect
from visualpatchworld.trace.file import write_traces

TESTS = Path(__file__).parent
os.environ["VPW_DOMAINS"] = str(TESTS / "toy")
register()


SLOW = TESTS / "slow.txt"
SLOW_S = 0.5  # a test that takes this long is left out of `make quick`


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-slow",
        action="store_true",
        help="Measure every test and write down those that `make quick` leaves out.",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--write-slow"):
        config.pluginmanager.register(Stopwatch())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = set(SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)


class Stopwatch:
    """How long each test takes, with what is set up for it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        slow = sorted(test for test, seconds in self.seconds.items() if seconds >= SLOW_S)
        SLOW.write_text("".join(f"{test}\n" for test in slow), encoding="utf-8")


@pytest.fixture(params=list(find_domains()))
def domain(request: pytest.FixtureRequest) -> Domain:
    """Every domain that is discovered, bundled or toy."""
    return load_domain(request.param)


@pytest.fixture
def toy() -> Domain:
    return load_domain("slider")


@pytest.fixture
def toy_episodes(toy: Domain) -> list[Episode]:
    return list(collect(toy, toy.constants, episodes=3, seed=7, pixels=True))


@pytest.fixture
def toy_file(tmp_path: Path, toy: Domain, toy_episodes: list[Episode]) -> Path:
    """A trace file of three toy episodes with pictures."""
    path = tmp_path / "toy.h5"
    write_traces(path, toy_episodes, toy.layout, domain=toy.name, constants=toy.constants, seed=7)
    return path


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference recordings, which are not part of the project."""
    folder = TESTS.parent.parent / "shared" / "reference"
    if not folder.is_dir():
        pytest.skip("no reference recordings beside the project")
    return folder
