"""The page in a real browser, at two widths: every step, on real files."""

import io as streams
import json
import re
from pathlib import Path

import numpy as np
import pytest
from skimage import data

from plugplay import io, kernels
from plugplay.web.app import assets
from web.serving import CHROMIUM, CHROMIUM_OPTIONS

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
if not CHROMIUM.exists():
    pytest.skip("there is no chromium", allow_module_level=True)

LONG = 120_000
WIDTHS = {"desktop": (1280, 860), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_OPTIONS)
        yield made
        made.close()


@pytest.fixture(params=["desktop"])
def page(request, browser, server):
    """A page on which nothing may go wrong, and which may talk to nobody else."""
    width, height = WIDTHS[request.param]
    context = browser.new_context(viewport={"width": width, "height": height}, accept_downloads=True)
    made = context.new_page()
    faults = []
    made.on("pageerror", lambda error: faults.append(str(error)))
    made.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    made.on("request", lambda sent: sent.url.startswith((server[0], "blob:", "data:")) or faults.append(sent.url))
    made.goto(server[0])
    yield made
    context.close()
    # Chromium reports every answer that is an error; those are what some tests are about.
    assert [fault for fault in faults if "Failed to load resource" not in fault] == []


both_widths = pytest.mark.parametrize("page", list(WIDTHS), indirect=True)


def drop(page, path, selector="#image-input"):
    page.set_input_files(selector, str(path))


def open_file(page, path, kind):
    drop(page, path)
    expect(page.locator("#file-name")).to_have_text(path.name, timeout=LONG)
    tick(page, f"input[name=kind][value={kind}]")


def tick(page, selector):
    """Choose a radio button as with the keyboard."""
    page.locator(selector).focus()
    page.keyboard.press("Space")
    expect(page.locator(selector)).to_be_checked()


def previewed(page):
    expect(page.locator("#quick-state")).to_contain_text(" s ·", timeout=LONG)


def restored(page):
    page.click("#restore")
    expect(page.locator("#result")).to_be_visible(timeout=LONG)
    expect(page.locator("#divider-row")).to_be_visible(timeout=LONG)


def downloaded(page, selector="#download"):
    with page.expect_download() as waiting:
        page.click(selector)
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def fits(page):
    """Tell whether nothing sticks out of the window to the right."""
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@both_widths
def test_from_an_example_to_the_download(page, client):
    assert fits(page)
    page.click("[data-example=motion]")
    previewed(page)
    assert fits(page)
    restored(page)
    assert fits(page)
    expect(page.locator("#quality")).to_contain_text("PSNR")
    expect(page.locator("#command")).to_have_text(
        "plugplay deblur shaken.tif -o shaken-restored.tif --kernel motion:15,30"
    )
    name, content = downloaded(page)
    assert name == "shaken-restored.tif"
    job = json.loads(page.evaluate("sessionStorage.plugplay"))["job"]
    assert content == client.get(f"/api/jobs/{job}/result").content
    name, text = downloaded(page, "#parameters")
    assert json.loads(text)["task"]["kernel"] == "motion:15,30"
    expect(page.locator("#curve-svg .line")).to_be_attached()
    for mode in ("before", "after", "difference", "split"):
        tick(page, f"input[name=mode][value={mode}]")
    page.click("#zoom-one")
    expect(page.locator("#zoom")).to_have_text("100 %")
    page.focus("#canvas")
    page.keyboard.press("+")
    expect(page.locator("#zoom")).to_have_text("125 %")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    expect(page.locator("#zoom")).not_to_have_text("125 %")


def test_reload_finds_the_job_again_and_cancel_ends_it(page, tmp_path):
    path = tmp_path / "large.npy"
    np.save(path, np.random.default_rng(0).random((1200, 1200)).astype(np.float32))
    open_file(page, path, "denoise")
    page.locator("#more summary").click()
    page.select_option("#denoiser", "dsg-nlm")
    page.click("#restore")
    expect(page.locator("#run")).to_be_visible()
    page.reload()
    expect(page.locator("#run")).to_be_visible(timeout=LONG)
    expect(page.locator("#file-name")).to_have_text("large.npy")
    page.click("#cancel")
    expect(page.locator("#run")).to_be_hidden(timeout=10_000)
    expect(page.locator("#restore")).to_be_enabled()
    page.reload()
    expect(page.locator("#quick")).to_be_visible(timeout=LONG)
    expect(page.locator("#denoiser")).to_have_value("dsg-nlm")


def test_two_tabs_do_not_disturb_each_other(page, browser, server, noisy):
    other = browser.new_context().new_page()
    other.goto(server[0])
    open_file(page, noisy, "denoise")
    other.click("[data-example=noise]")
    restored(page)
    expect(other.locator("#file-name")).to_have_text("portrait.png", timeout=LONG)
    restored(other)
    expect(page.locator("#file-name")).to_have_text(noisy.name)
    expect(page.locator("#command")).to_contain_text("noisy image.tif")
    other.context.close()


@both_widths
def test_kernel_is_chosen_by_looking(page, noisy, tmp_path):
    open_file(page, noisy, "deblur")
    expect(page.locator("#kernel-image")).to_have_attribute("src", re.compile("gaussian%3A1.6"))
    previewed(page)
    tick(page, "input[name=shape][value=disk]")
    page.fill("#k-radius", "2.5")
    expect(page.locator("output[for=k-radius]")).to_have_text("2.5 px")
    expect(page.locator("#kernel-image")).to_have_attribute("src", re.compile("disk%3A2.5"))
    previewed(page)
    page.focus("#canvas")
    page.keyboard.press("ArrowRight")
    previewed(page)
    np.save(tmp_path / "psf.npy", kernels.disk(2))
    tick(page, "input[name=shape][value=file]")
    expect(page.locator("#restore")).to_be_disabled()
    drop(page, tmp_path / "psf.npy", "#kernel-input")
    expect(page.locator("#kernel-name")).to_have_text("psf.npy, 5 × 5", timeout=LONG)
    previewed(page)
    np.save(tmp_path / "bad.npy", -np.ones((3, 3)))
    drop(page, tmp_path / "bad.npy", "#kernel-input")
    expect(page.locator("[data-error-for=kernel_file]")).to_contain_text("negative", timeout=LONG)


def test_mask_is_painted(page, client, noisy, tmp_path):
    open_file(page, noisy, "inpaint")
    expect(page.locator("#busy")).to_be_hidden(timeout=LONG)
    box = page.locator("#canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 30, y)
    page.mouse.down()
    page.mouse.move(x + 30, y, steps=5)
    page.mouse.up()
    expect(page.locator("#mask-name")).to_have_text("mask.png", timeout=LONG)
    previewed(page)
    restored(page)
    task = json.loads(page.evaluate("sessionStorage.plugplay"))["task"]
    view = client.get(f"/api/files/{task['mask_file']}/view").content
    from PIL import Image

    mask = np.asarray(Image.open(streams.BytesIO(view)).convert("L"))
    assert mask.shape == (64, 72)
    missing = mask < 128
    assert 20 < missing.sum() < 1500
    assert missing[32, 36]
    page.click("#adjust")
    page.click("#mask-clear")
    expect(page.locator("#mask-name")).to_contain_text("Drop a mask", timeout=LONG)


def test_stack_has_a_page_slider_and_fits_keeps_its_format(page, tmp_path):
    pytest.importorskip("astropy")
    path = tmp_path / "stack.fits"
    stack = np.random.default_rng(0).normal(1000, 20, (3, 48, 56)).astype(np.float32)
    io.write(path, io.ImageFile.of(stack))
    open_file(page, path, "denoise")
    expect(page.locator("#pages")).to_be_visible()
    page.fill("#page", "3")
    expect(page.locator("#page-out")).to_have_text("3/3")
    previewed(page)
    restored(page)
    name, content = downloaded(page)
    assert name == "stack-restored.fits"
    (tmp_path / name).write_bytes(content)
    result = io.read(tmp_path / name).pixels
    assert (result.shape, result.dtype) == (stack.shape, np.float32)


def test_wrong_files_are_explained_where_they_were_dropped(page, noisy, tmp_path):
    (tmp_path / "notes.txt").write_text("not an image")
    drop(page, tmp_path / "notes.txt")
    expect(page.locator("#start [data-error-for=image]")).to_contain_text("not an image", timeout=LONG)
    open_file(page, noisy, "inpaint")
    io.write(tmp_path / "small.png", io.ImageFile.of(np.zeros((4, 4), np.uint8)))
    drop(page, tmp_path / "small.png", "#mask-input")
    expect(page.locator("[data-error-for=mask_file]")).to_contain_text("pixels", timeout=LONG)
    page.click("#restore")
    expect(page.locator("[data-error-for=mask_file]")).to_contain_text("Which pixels are missing", timeout=LONG)


def test_reference_photons_and_missing_values(page, tmp_path):
    page.click("[data-example=photons]")
    expect(page.locator("#p-oversampling")).to_have_value("4", timeout=LONG)
    previewed(page)
    restored(page)
    expect(page.locator("#quality")).to_contain_text("SSIM")
    image = data.camera()[::8, ::8] / 255
    image[10:20, 30:34] = np.nan
    np.save(tmp_path / "gaps.npy", image)
    drop(page, tmp_path / "gaps.npy", "#image-again")
    expect(page.locator("#file-facts")).to_contain_text("40 missing values", timeout=LONG)
    expect(page.locator("input[name=kind][value=inpaint]")).to_be_checked()
    previewed(page)
    io.write(tmp_path / "true.png", io.ImageFile.of(data.camera()[::8, ::8]))
    page.locator("#more summary").click()
    drop(page, tmp_path / "true.png", "#reference-input")
    expect(page.locator("#reference-name")).to_contain_text("true.png", timeout=LONG)
    restored(page)
    expect(page.locator("#quality")).to_contain_text("dB")


def test_dark_and_light(page):
    shades = set()
    for theme in ("light", "dark"):
        while page.locator("#theme").get_attribute("aria-label") != f"Colours: {theme}":
            page.click("#theme")
        shades.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(shades) == 2
    page.emulate_media(color_scheme="dark")
    while page.locator("#theme").get_attribute("aria-label") != "Colours: as the system":
        page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") in shades


def test_everything_can_be_reached_by_keyboard_and_has_a_name(page):
    page.click("[data-example=noise]")
    previewed(page)
    unnamed = page.evaluate(
        """[...document.querySelectorAll("button, input, select, a, canvas, summary")]
        .filter((e) => e.offsetParent !== null || e.type === "file")
        .filter((e) => !(e.labels?.length || e.ariaLabel || e.textContent.trim()))
        .map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    page.locator("input[name=kind]:checked").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("input[name=kind][value=deblur]")).to_be_checked()


def test_page_is_light_and_asks_nobody_else():
    total = sum(map(len, assets().values()))
    assert total < 150_000
    for name, content in assets().items():
        text = content.decode()
        outside = set(re.findall(r"https?://[^\s\"'`)]+", text)) - {"http://www.w3.org/2000/svg"}
        assert outside == set(), name
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", text)
