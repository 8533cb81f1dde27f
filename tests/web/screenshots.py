"""Screenshots of the main states, for the documentation: ``python tests/web/screenshots.py docs/images``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from web.serving import CHROMIUM, CHROMIUM_OPTIONS, running

LONG = 120_000


def shoot(page: Page, folder: Path, label: str) -> None:
    """Go through the page and take an image of every state."""
    from PIL import Image
    from playwright.sync_api import expect

    def keep(state: str) -> None:
        page.wait_for_timeout(300)
        path = folder / f"serve-{state}{label}.png"
        page.screenshot(path=path)
        # A quarter of the size, and nobody sees it.
        Image.open(path).convert("RGB").quantize(160, dither=Image.Dither.NONE).save(path, optimize=True)

    keep("start")
    page.click("[data-example=motion]")
    expect(page.locator("#quick-state")).to_contain_text(" s ·", timeout=LONG)
    keep("preview")
    page.click("#restore")
    expect(page.locator("#run-text")).to_contain_text("Iteration", timeout=LONG)
    expect(page.locator("#divider-row")).to_be_visible(timeout=LONG)
    keep("running")
    expect(page.locator("#result")).to_be_visible(timeout=LONG)
    keep("result")
    page.check("input[name=mode][value=difference]", force=True)
    keep("difference")
    page.click("#adjust")
    page.check("input[name=kind][value=inpaint]", force=True)
    box = page.locator("#canvas").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 150, y - 110)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=8)
    page.mouse.up()
    expect(page.locator("#quick-state")).to_contain_text(" s ·", timeout=LONG)
    keep("mask")
    page.set_input_files("#mask-input", str(Path(__file__)))
    expect(page.locator("[data-error-for=mask_file]")).not_to_be_empty(timeout=LONG)
    page.locator("[data-error-for=mask_file]").scroll_into_view_if_needed()
    keep("error")


def main(folder: Path) -> None:
    """Take all of them, at two widths, light and dark."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with running() as (address, _), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_OPTIONS)
        for label, (width, height), scheme in (("", (1280, 900), "light"), ("-phone", (390, 844), "dark")):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            page.goto(address)
            shoot(page, folder, label)
            context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
