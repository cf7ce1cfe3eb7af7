"""What the tests share: the toy domain among the discovered ones, one trace file of it, and the reference recordings where present."""

import os
from pathlib import Path

import pytest

from visualpatchworld.domain import Domain, find_domains, load_domain
from visualpatchworld.registry import register
from visualpatchworld.trace.collect import collect
from visualpatchworld.trace.episode import Episode
from visualpatchworld.trace.write import write_traces

TESTS = Path(__file__).parent
os.environ["VPW_DOMAINS"] = str(TESTS / "toy")
register()


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
