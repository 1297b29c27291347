"""Photograph the pages of `holdtrue demo --serve`: ``python docs/images/make_screenshots.py [FOLDER]``.

Needs playwright and a chromium (``CHROMIUM=PATH`` names another than the one that is found). What is shown follows
from the demo's seed, but for dates and times.
"""

import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from holdtrue._cache import use_cache
from holdtrue.cli._demo_serve import seeded
from holdtrue.server import KeyRing, add_key, create_app

WHO = 1539  # who has two ways that hold, also where the loan may not become smaller
DESKTOP = {"width": 1240, "height": 820}
PHONE = {"width": 390, "height": 844}


def main(folder: Path, n_models: int = 100) -> None:
    """Make all pictures."""
    use_cache()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        service, applicants = seeded(place, n_models, 0)
        token = add_key(place / "keys.json", "demo", "admin")
        address = _listen(create_app(service, KeyRing(place / "keys.json"), applicants=applicants))
        with sync_playwright() as playwright:
            found = os.environ.get("CHROMIUM") or shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
            row = applicants.subjects.index(f"application {WHO}")
            page = _enter(browser, address, token, DESKTOP)
            _desk(page, address, row, folder)
            phone = _enter(browser, address, token, PHONE)
            _phone(phone, address, row, folder)
            browser.close()
    for path in sorted(folder.glob("page-*.png")):  # pages have few colours: a palette is as good, and small
        Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


def _desk(page: Page, address: str, row: int, folder: Path) -> None:
    page.goto(f"{address}/desk/{row}")
    page.screenshot(path=folder / "page-options.png", clip=_to(page, ".options"), full_page=True)
    page.locator("button[name=fix]").first.click()
    page.wait_for_selector("tr.restricted")
    page.wait_for_timeout(300)
    page.screenshot(
        path=folder / "page-locked.png", clip=_to(page, ".columns tbody tr:nth-child(8)"), full_page=True
    )
    page.locator("button[name=option]").nth(1).click()
    page.wait_for_selector("h1:has-text('Promise this?')")
    if page.locator("input[name=instead]").count():  # they have a promise already
        page.locator("input[name=instead]").first.check()
    if page.locator("#reason").count():  # what does not hold is promised only with one
        page.fill("#reason", "The applicant's employer has confirmed the new salary.")
    page.click("text=Issue the promise")
    page.wait_for_selector("h1:has-text('Promised')")
    page.wait_for_timeout(300)
    page.screenshot(path=folder / "page-letter.png", full_page=True)
    id = page.url.rsplit("/", 1)[1]
    page.goto(f"{address}/oversight")
    page.screenshot(path=folder / "page-promises.png", clip=_to(page, ".gate"), full_page=True)
    page.click("text=Run the gate")
    page.wait_for_load_state()
    page.goto(f"{address}/oversight/promises/{id}")
    page.screenshot(path=folder / "page-evidence.png", full_page=True)


def _phone(page: Page, address: str, row: int, folder: Path) -> None:
    page.goto(f"{address}/desk/{row}")
    page.screenshot(
        path=folder / "page-phone.png", clip={"x": 0, "y": 0, **PHONE} | {"height": 1250}, full_page=True
    )


def _to(page: Page, selector: str) -> Any:
    """From the top of the page to the end of an element."""
    end = page.locator(selector).evaluate("e => e.getBoundingClientRect().bottom + window.scrollY")
    return {"x": 0, "y": 0, "width": DESKTOP["width"], "height": end + 24}


def _enter(browser: Any, address: str, token: str, size: dict[str, int]) -> Page:
    page = browser.new_context(viewport=size, device_scale_factor=1 if size is DESKTOP else 1.5).new_page()
    page.goto(f"{address}/login#key={token}")
    page.click("main button")
    page.wait_for_selector("h1:has-text('Applicants')")
    return page


def _listen(app: Any) -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, ws="none"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.1)
    return f"http://127.0.0.1:{port}"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
