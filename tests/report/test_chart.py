"""Charts: points lie where the axes say, and odd values neither stop nor distort them."""

import math
import re

import pytest

from visualpatchworld.report.page import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Chart, Curve, svg


def points(text: str, kind: str = "polyline") -> list[tuple[float, float]]:
    found = re.search(rf'<{kind}[^>]*points="([^"]*)"', text)
    assert found
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in found[1].split())]


def chart(*values: float, logarithmic: bool = False) -> str:
    return svg(
        Chart(title="t", x_label="step", lines=(Curve("l", "look", list(enumerate(values))),), logarithmic=logarithmic)
    )


def test_a_line_spans_the_axes():
    assert points(chart(0.0, 50.0, 100.0)) == [
        (LEFT, HEIGHT - BOTTOM),
        (LEFT + (WIDTH - LEFT - RIGHT) / 2, (HEIGHT - BOTTOM + TOP) / 2),
        (WIDTH - RIGHT, TOP),
    ]
    for label in ("0", "25", "50", "75", "100"):
        assert f">{label}</text>" in chart(0.0, 50.0, 100.0)


def test_powers_of_ten_are_evenly_apart_and_zero_lies_at_the_bottom():
    text = chart(1e-6, 1e-5, 1e-4, 0.0, logarithmic=True)
    heights = [y for _, y in points(text)]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2])
    assert heights[3] == HEIGHT - BOTTOM
    assert ">10⁻⁵</text>" in text


@pytest.mark.parametrize("values", [(), (3.0,), (0.0, 0.0), (5.0, 5.0), (-1e-12, 1e-12), (1e300, -1e300)])
@pytest.mark.parametrize("logarithmic", [True, False])
def test_whatever_the_values_all_is_inside(values: tuple[float, ...], logarithmic: bool):
    for x, y in points(chart(*values, logarithmic=logarithmic)):
        assert 0 <= x <= WIDTH and 0 <= y <= HEIGHT


def test_what_is_not_finite_is_left_out():
    text = chart(1.0, math.nan, math.inf, 2.0)
    assert len(points(text)) == 2
    assert "nan" not in re.sub('aria-label="[^"]*"', "", text)


def test_a_band_goes_there_and_back():
    text = svg(
        Chart(
            title="t",
            x_label="s",
            lines=(Curve("l", "look", [(0, 1.0), (1, 2.0)]),),
            band=[(0, 1.0, 2.0), (1, 2.0, 3.0)],
        )
    )
    there_and_back = points(text, "polygon")
    assert [x for x, _ in there_and_back] == [LEFT, WIDTH - RIGHT, WIDTH - RIGHT, LEFT]
    assert there_and_back[0][1] < there_and_back[3][1]


def test_words_are_escaped():
    assert "<b>" not in svg(Chart(title="<b>", x_label="<b>", lines=(Curve('"<b>', "look", [(0, 1.0)]),)))
