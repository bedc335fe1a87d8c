"""The page in a browser: it opens without an error or a request, and sorting, hiding, hovering and saving work."""

import io
import re
import shutil

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jfed.analysis import write_report
from tests.report.paged import results

pytestmark = pytest.mark.proof
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
EVIL = "<img src=x onerror=window.broken=1>"
SCHEMES = {"uniform": 0.5, "fedcs": 0.9, "e3cs-0.5": 0.7, EVIL: 0.55, "$$x^2$$": 0.6}
VISIBLE = """name => Bokeh.documents.flatMap(d => [...d._all_models.values()])
    .filter(m => m.type === "GlyphRenderer" && m.name === name).map(m => m.visible)"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    return write_report(out, results=results(SCHEMES, rounds=400, training=True))


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def opened(browser, path):
    """Return a function that opens the page and waits for its figures; nothing may go wrong until the test ends."""
    wrong, contexts = [], []

    def open_page(width=1400, scheme="light", path=path):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request", lambda asked: None if asked.url.startswith(("file:", "blob:", "data:")) else wrong.append(asked)
        )
        page.goto(path.as_uri())
        page.wait_for_function("document.querySelectorAll('.plot:not([data-drawn])').length === 0")
        return page

    yield open_page
    for context in contexts:
        assert context.pages[0].evaluate("window.broken") is None
        context.close()
    assert wrong == []


def test_a_sweep_is_ranked_and_its_map_has_colours(opened, tmp_path):
    data = results(dict(zip("abcd", (0.2, 0.4, 0.6, 0.8), strict=True)))
    of_run = data["method"].values
    data = data.assign_coords(
        method=("run", np.full(len(of_run), "mine")),
        eta=("run", np.where(np.isin(of_run, ["a", "b"]), 0.1, 1.0), {"path": "selector.eta"}),
        quota=("run", np.where(np.isin(of_run, ["a", "c"]), 0.1, 1.0), {"path": "selector.quota"}),
    )
    page = opened(path=write_report(tmp_path, results=data))
    shot = plt.imread(io.BytesIO(page.locator("#sweep .plot").first.screenshot()))
    left = shot[:, : shot.shape[1] // 2, :3]  # without the key of colours
    assert (np.ptp(left, axis=-1) > 0.05).mean() > 0.15  # cells are neither white nor grey
    assert page.locator("#sweep .grid tbody tr").count() == 4


def column(page, title, number):
    rows = page.locator(f".grid:has(h4:text-is('{title}')) tbody tr")
    return [rows.nth(i).locator("td").nth(number).inner_text() for i in range(rows.count())]


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_and_shows_its_colours(opened, width, scheme):
    page = opened(width, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    canvases = page.locator(".plot[data-drawn]")
    assert canvases.count() == 8 and all(canvases.nth(i).bounding_box()["height"] > 100 for i in range(8))
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme]
    lines = page.evaluate("""[...Bokeh.documents[0]._all_models.values()].filter(m => m.type === "GlyphRenderer"
        && m.name === "uniform").map(m => m.glyph.line_color.value ?? m.glyph.line_color)""")
    assert lines == [{"light": "#0072b2", "dark": "#5aaeea"}[scheme]]


def test_tables_sort_by_keyboard_and_by_value(opened):
    page = opened()
    title = "Models returned to the server, all rounds"
    head = page.locator(f".grid:has(h4:text-is('{title}')) th").nth(1)
    head.locator("button").focus()
    page.keyboard.press("Enter")
    means = [float(value) for value in column(page, title, 1)]
    assert head.get_attribute("aria-sort") == "ascending" and means == sorted(means)
    page.keyboard.press("Enter")
    assert [float(value) for value in column(page, title, 1)] == means[::-1]
    page.locator(f".grid:has(h4:text-is('{title}')) th").nth(3).locator("button").click()
    assert column(page, title, 3)[-1] == "-" and head.get_attribute("aria-sort") == "none"


def test_a_scheme_is_hidden_in_all_figures_and_comes_back(opened):
    page = opened()
    assert page.evaluate(VISIBLE, "fedcs") == [True] * 4
    buttons = page.locator("button[data-series]:text-is('fedcs')")
    buttons.first.focus()
    page.keyboard.press("Space")
    assert page.evaluate(VISIBLE, "fedcs") == [False] * 4 and page.evaluate(VISIBLE, "uniform") == [True] * 4
    assert {buttons.nth(i).get_attribute("aria-pressed") for i in range(buttons.count())} == {"false"}
    buttons.last.click()
    assert page.evaluate(VISIBLE, "fedcs") == [True] * 4


def test_the_pointer_and_arrow_keys_read_all_curves(opened):
    page = opened()
    plot = page.locator(".plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    lines = plot.locator(".readout p").all_inner_texts()
    assert re.fullmatch(r"communication round (19|20|21|22)\d", lines[0]) and len(lines) == 1 + len(SCHEMES)
    assert re.fullmatch(r"fedcs 0\.\d+ \(0\.\d+ to 0\.\d+\)", lines[1])  # the highest first
    assert any(line.startswith(EVIL) for line in lines)
    page.locator("button[data-series]:text-is('fedcs')").first.click()
    plot.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    lines = plot.locator(".readout p").all_inner_texts()
    assert lines[0] == "communication round 4" and len(lines) == len(SCHEMES)  # points 1, 3 and 4 of 400 are drawn
    page.keyboard.press("Escape")
    assert not plot.locator(".readout").is_visible()


def test_data_are_saved_with_each_figure_and_printing_is_light(opened):
    page = opened(scheme="dark")
    with page.expect_download() as download:
        page.locator("button[data-of]").first.click()
    lines = download.value.path().read_text().splitlines()
    assert download.value.suggested_filename == "accuracy.csv"
    assert lines[0] == "data,communication round,mean,low,high" and len(lines) == 1 + 5 * 250
    assert {line.split(",")[0] for line in lines[1:]} == set(SCHEMES)
    with page.expect_download() as download:
        page.locator("a.save").last.click()
    assert download.value.suggested_filename == "runs.csv"
    runs = download.value.path().read_text().splitlines()
    assert runs[0] == "scheme,seed,test_accuracy,num_succeeded,jain" and len(runs) == 1 + 6 * len(SCHEMES)
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf()) > 10_000
