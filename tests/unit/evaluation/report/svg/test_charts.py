"""Charts: places are right, hostile numbers are left out, hints tell the figures."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from xml.etree import ElementTree

import pytest

from tradingbot.evaluation.report.svg.bars import BarGroup, column_chart, row_chart
from tradingbot.evaluation.report.svg.drawing import Drawing, as_svg, shorten_text
from tradingbot.evaluation.report.svg.forest import Estimate, forest_chart
from tradingbot.evaluation.report.svg.forest import ForestRow as Yardstick
from tradingbot.evaluation.report.svg.heat_map import HeatMap, correlation_map, heat_map
from tradingbot.evaluation.report.svg.lines import LineSeries, band_chart, time_chart
from tradingbot.evaluation.report.svg.scale import Axis, AxisScale, round_ticks, tick_words
from tradingbot.evaluation.statistics.interval import Interval

NAN = math.nan
DAYS = tuple(f"2024-01-{day:02d}" for day in range(1, 11))
EVIL = '<b onclick="x">&'


def parsed(drawing: Drawing) -> ElementTree.Element:
    """A drawing is well-formed, and every coordinate in it is a number."""
    text = as_svg(drawing, title=EVIL, synthetic=True)
    assert not re.search(r"\b(nan|inf)\b", text)
    return ElementTree.fromstring(text)


def rects(drawing: Drawing, style: str) -> list[dict[str, str]]:
    return [one.attrib for one in parsed(drawing).iter("rect") if one.get("class") == style]


def test_scale_maps_ends_and_stays_within_them() -> None:
    scale = AxisScale(0.0, 10.0, 100.0, 0.0)

    assert [scale.at(n) for n in (0, 5, 10, 99)] == [100, 50, 0, 0]
    assert AxisScale(1.0, 100.0, 0.0, 2.0, logarithmic=True).at(10.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, ("0.00", "0.25", "0.50", "0.75", "1.00")),
        (-3.0, 7.0, ("−5.0", "−2.5", "0.0", "2.5", "5.0", "7.5")),
        (0.0, 90_000.0, None),
    ],
)
def test_ticks_are_round_enclose_the_data_and_are_written_exactly(
    low: float, high: float, expected: tuple[str, ...] | None
) -> None:
    ticks = round_ticks(low, high)

    assert ticks[0] <= low
    assert ticks[-1] >= high
    assert len(ticks) <= 8
    if expected:
        assert tick_words(ticks, "number") == expected


def test_time_chart_puts_values_at_their_heights_and_names_at_ends() -> None:
    line = LineSeries("agents", tuple(float(n) for n in range(10)), "agents")
    chart = time_chart(DAYS, [line], Axis("worth"), width=400, height=200)
    paths = [one for one in parsed(chart).iter("path") if one.get("class") == "line agents"]
    points = [tuple(map(float, pair.split())) for pair in paths[0].get("d", "")[1:].split("L")]

    assert len(points) == 10
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert "agents" in [one.text for one in parsed(chart).iter("text")]
    hints = [one.findtext("title") for one in parsed(chart).iter("rect")]
    assert hints[3] == "2024-01-04\nagents: 3.00"


def test_time_chart_thins_long_lines_and_keeps_their_end() -> None:
    days = tuple(str(n) for n in range(5_000))
    ys = tuple(1.0 for _ in range(4_999))
    chart = time_chart(days, [LineSeries("a", (*ys, 9.0), "agents")], Axis(), width=400, height=200)
    path = next(one for one in parsed(chart).iter("path") if one.get("class") == "line agents")

    assert path.get("d", "").count("L") < 401
    assert float(path.get("d", "").split()[-1]) < 40


@pytest.mark.parametrize(
    "drawing",
    [
        time_chart(DAYS, [LineSeries("a", (NAN,) * 10, "agents")], Axis(), width=300, height=100),
        time_chart((), [], Axis(), width=300, height=100),
        band_chart([0.0], [Interval(NAN, NAN, NAN)], (Axis(), Axis()), width=300, height=100),
        column_chart([BarGroup("a", math.inf, "h")], Axis(), width=300, height=100),
        row_chart([], width=300),
        forest_chart([], Axis(), width=300),
        heat_map(HeatMap([[NAN]], ["a"], ["b"]), width=300),
        correlation_map((), (), width=300),
    ],
)
def test_chart_without_finite_figures_says_so(drawing: Drawing) -> None:
    assert "no finite figures" in [one.text for one in parsed(drawing).iter("text")]


def test_columns_stand_on_zero_and_are_coloured_by_sign() -> None:
    chart = column_chart(
        [BarGroup("a", 2.0, "up"), BarGroup("b", -1.0, "down"), BarGroup("c", NAN, "none")],
        Axis("x"),
        width=300,
        height=200,
    )
    (up,), (down,) = rects(chart, "pos"), rects(chart, "neg")

    assert float(up["y"]) + float(up["height"]) == pytest.approx(float(down["y"]))
    assert float(up["height"]) == pytest.approx(2 * float(down["height"]), abs=0.2)


def test_rows_start_at_zero_on_the_side_of_their_sign() -> None:
    chart = row_chart([("a", 3.0, "3"), ("b", -3.0, "−3")], width=300)
    (right,), (left,) = rects(chart, "pos"), rects(chart, "neg")

    assert float(left["x"]) + float(left["width"]) == pytest.approx(float(right["x"]), abs=0.11)
    assert left["width"] == right["width"]


def test_forest_draws_interval_around_estimate_and_line_where_it_is() -> None:
    chart = forest_chart(
        [Estimate("a", Interval(1.0, 0.0, 2.0)), Estimate("b", Interval(NAN, NAN, NAN))],
        Axis("bp"),
        width=400,
        lines=[Yardstick(1.0, "luck")],
    )
    marks = {one.get("class"): one for one in parsed(chart).iter("path")}
    whisker = re.findall(r"[\d.]+", marks["whisker agents"].get("d", ""))
    dot = next(one for one in parsed(chart).iter("circle"))
    luck = re.findall(r"[\d.]+", marks["assumed"].get("d", ""))

    assert float(dot.get("cx", "")) == pytest.approx((float(whisker[0]) + float(whisker[2])) / 2)
    assert float(luck[0]) == pytest.approx(float(dot.get("cx", "")))


def test_heat_map_tints_by_size_and_sign_and_hints_at_each_cell() -> None:
    table = HeatMap([[1.0, -2.0], [NAN, 0.5]], ["r0", "r1"], ["c0", "c1"], "row", "column")
    chart = heat_map(table, width=300)
    small, smaller = rects(chart, "pos")
    (large,) = rects(chart, "neg")

    assert float(large["fill-opacity"]) > float(small["fill-opacity"])
    assert float(small["fill-opacity"]) > float(smaller["fill-opacity"])
    assert len(rects(chart, "blank")) == 1
    hints = [one.findtext("title") for one in parsed(chart).iter("rect")]
    assert hints[1] == "row r0, column c1: −2.00"


def test_contour_crosses_each_row_where_nothing_is_left() -> None:
    table = HeatMap([[1.0, 1.0], [1.0, 1.0]], ["a", "b"], ["c", "d"])
    chart = heat_map(table, width=300, contour=[0.5, math.inf])
    path = next(one for one in parsed(chart).iter("path") if one.get("class") == "contour")
    xs = [float(pair.split()[0]) for pair in path.get("d", "")[1:].split("L")]
    cells = rects(chart, "pos")

    assert xs[0] == xs[1] == pytest.approx(float(cells[1]["x"]) - 0.5)
    assert xs[2] == xs[3] == pytest.approx(298)


def test_large_correlation_map_is_one_picture_of_the_same_numbers() -> None:
    names = tuple(f"s{n}" for n in range(40))
    cells = [[1.0 if row == place else -0.5 for place in range(40)] for row in range(40)]
    cells[0][1] = NAN
    chart = correlation_map(names, cells, width=300)
    picture = next(parsed(chart).iter("image")).get("href", "")
    png = base64.b64decode(picture.removeprefix("data:image/png;base64,"))

    assert struct.unpack(">II", png[16:24]) == (40, 40)
    length = struct.unpack(">I", png[33:37])[0]
    pixels = zlib.decompress(png[41 : 41 + length])
    row = pixels[1 : 1 + 160]
    assert row[0:4] == bytes((0, 114, 178, 255))
    assert row[4:8] == bytes(4)
    assert row[8:12] == bytes((213, 94, 0, 128))


def test_long_names_are_cut_visibly() -> None:
    assert shorten_text("short", 100) == "short"
    assert shorten_text("a name that does not fit", 60).endswith("…")


@pytest.mark.parametrize(
    "drawing",
    [
        time_chart(
            DAYS, [LineSeries(EVIL, (1.0,) * 10, "held")], Axis(EVIL), width=900, height=200
        ),
        column_chart([BarGroup(EVIL, 1.0, EVIL)], Axis(EVIL), width=900, height=200, words=EVIL),
        row_chart([(EVIL, 1.0, EVIL)], width=900),
        forest_chart(
            [Estimate(EVIL, Interval(1.0, 0.0, 2.0))],
            Axis(EVIL),
            width=900,
            lines=[Yardstick(1.0, EVIL)],
        ),
        heat_map(HeatMap([[1.0]], [EVIL], [EVIL], EVIL, EVIL), width=900, pointer=(0.0, EVIL)),
        correlation_map((EVIL,) * 40, [[1.0] * 40] * 40, width=900),
    ],
)
def test_charts_escape_every_name(drawing: Drawing) -> None:
    texts = [one.text or "" for one in parsed(drawing).iter("text")]

    assert any(EVIL in text for text in texts)
    assert "<b onclick" not in drawing.body
