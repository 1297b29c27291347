"""Look at the site in a real browser: ``python docs/site/look.py [FOLDER] [--pictures FOLDER] [--every]``.

After ``make site``. Opens pages on a desktop and on a phone, light and dark, and checks what a reader needs:
contrast, names of fields and buttons, headings in order, focus that can be seen, menu and text without scripts,
nothing wider than a phone, nothing loaded from elsewhere, and search that finds. ``--every`` opens every page, not
one of each kind, and writes what it saw to docs/site/looked.json. Where there is no chromium it says so, and that
is all.
"""

import argparse
import json
import shutil
import sys
import threading
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGES = ("index", "how-to/choose-a-method", "how-to/xgboost-that-holds", "reference/glossary", "gallery",
         "reference/api/methods", "explanation/what-holding-costs", "papers/consistent-counterfactuals",
         "notebooks/xgboost_that_holds")  # fmt: skip
LOOKED = Path(__file__).parent / "looked.json"
NOT_READ = ("search", "genindex", "py-modindex")  # made by Sphinx, and empty where scripts do not run
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
# Every text that is shown, against what is behind it: WCAG asks for 4.5, for large text 3.
CONTRAST = """() => {
  const rgb = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const low = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())
      || !e.checkVisibility({opacityProperty: true, visibilityProperty: true})
      || e.closest("svg, script, style, .headerlink")) continue;
    const s = getComputedStyle(e), [a, b] = [light(rgb(s.color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05), large = parseFloat(s.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) low.add(`${e.tagName}.${e.className} "${e.textContent.trim().slice(0, 30)}" `
      + ratio.toFixed(2));
  }
  return [...low];
}"""
UNNAMED = """() => [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, label")]
  .filter((e) => e.checkVisibility() && !e.closest("[aria-hidden=true]"))
  .filter((e) => !(e.labels && e.labels.length) && !e.ariaLabel && !e.textContent.trim() && !e.title
    && !e.placeholder && !(e.control && e.control.ariaLabel)
    && !e.querySelector("img[alt], svg title, [aria-label], .visually-hidden"))
  .map((e) => e.outerHTML.slice(0, 120))"""
SKIPPED = """() => { const out = []; let last = 0;
  for (const h of document.querySelectorAll("article h1, article h2, article h3, article h4")) {
    const level = Number(h.tagName[1]); if (level > last + 1) out.push(h.textContent.trim()); last = level; }
  return out; }"""
SEEN = """() => { const e = document.activeElement, s = getComputedStyle(e);
  return e === document.body || s.outlineStyle !== "none" || s.boxShadow !== "none" || !e.checkVisibility(); }"""


def faults(page: Page) -> list[str]:
    """What a reader of this page would trip over."""
    out = [f"contrast: {one}" for one in page.evaluate(CONTRAST)]
    out += [f"without a name: {one}" for one in page.evaluate(UNNAMED)]
    width = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    if width[0] > width[1] + 1:
        out.append(f"wider than the screen: {width[0]} of {width[1]}")
    for _ in range(12):
        page.keyboard.press("Tab")
        if not page.evaluate(SEEN):
            out.append(
                f"focus cannot be seen: {page.evaluate('() => document.activeElement.outerHTML.slice(0, 100)')}"
            )
    return out


def visit(browser: Browser, address: str, size: str, names: Sequence[str], pictures: Path | None) -> list[str]:
    """Pages as readers have them who like it light, and as those who like it dark."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height})
    wrong: list[str] = []
    page = context.new_page()
    page.on("console", lambda said: wrong.append(f"console: {said.text}") if said.type == "error" else None)
    page.on("request", lambda asked: None if asked.url.startswith((address, "data:")) else wrong.append(asked.url))
    for name in names:
        schemes: tuple[Any, ...] = ("light", "dark")
        page.emulate_media(color_scheme=schemes[0])
        page.goto(f"{address}/{name}.html")
        page.wait_for_load_state("networkidle")
        wrong += [f"{name}: {fault}" for fault in faults(page)]
        if size == "desktop":
            wrong += [f"{name}: a level of headings is left out before {one!r}" for one in page.evaluate(SKIPPED)]
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            if scheme == "dark":
                wrong += [f"{name}: dark, contrast: {one}" for one in page.evaluate(CONTRAST)]
            if pictures is not None:
                page.evaluate("() => { document.activeElement.blur(); window.scrollTo(0, 0); }")
                page.screenshot(path=pictures / f"{name.replace('/', '-')}-{size}-{scheme}.png")
    context.close()
    return [f"{size}, {one}" for one in wrong]


def text_without_scripts(browser: Browser, address: str, names: Sequence[str]) -> list[str]:
    """Pages that say nothing, or do not fit a phone, where scripts do not run."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    page = context.new_page()
    wrong = []
    for name in names:
        page.goto(f"{address}/{name}.html")
        if len(page.locator("article").first.inner_text().split()) < 5:
            wrong.append(f"without scripts, {name}: says nothing")
        if page.evaluate("() => document.documentElement.scrollWidth > window.innerWidth + 1"):
            wrong.append(f"without scripts, {name}: wider than the screen")
    context.close()
    return wrong


def without_scripts(browser: Browser, address: str) -> list[str]:
    """The menu, on a phone, and the text, where scripts do not run."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/index.html")
    out = []
    page.locator("label.nav-overlay-icon, header label[for=__navigation]").first.click()
    link = page.locator(".sidebar-tree a", has_text="Choose a method").first
    if not link.is_visible():
        out.append("without scripts: the menu does not open")
    link.click()
    if "Choose a method" not in page.title():
        out.append("without scripts: the menu does not lead anywhere")
    context.close()
    return out


def menu_by_keys(browser: Browser, address: str) -> list[str]:
    """A phone with keys, or whatever reads it out: Tab reaches the menu, and a space opens it."""
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(f"{address}/index.html")
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.id") == "__navigation":
            page.keyboard.press("Space")
            page.wait_for_timeout(600)
            shown = page.locator(".sidebar-tree a").first.bounding_box()
            page.close()
            return [] if shown and shown["x"] >= 0 else ["keys: the menu does not open"]
    page.close()
    return ["keys: the menu cannot be reached"]


def search(browser: Browser, address: str) -> list[str]:
    """Keys alone: write a word into the search field, and a page is found."""
    page = browser.new_page()
    page.goto(f"{address}/index.html")
    page.locator("input[name=q]").first.focus()
    page.keyboard.type("guides judges")
    page.keyboard.press("Enter")
    page.wait_for_selector("ul.search li a", timeout=20_000)
    found = page.locator("ul.search li a").all_inner_texts()
    page.close()
    return (
        []
        if any("hold" in text.lower() for text in found)
        else [f"search: does not find holding; got {found[:5]}"]
    )


def every(folder: Path) -> list[str]:
    """Every page that is to be read, in order."""
    pages = sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.html"))
    return [name for name in pages if name not in NOT_READ and not name.startswith("_")]


def main() -> None:
    """Serve the folder on this machine, look at it, and say what is wrong."""
    if CHROMIUM is None:
        print("There is no chromium on this machine: the site was not looked at.")
        return
    parser = argparse.ArgumentParser(description="Look at the site in a real browser.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site" / "html")
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--every", action="store_true")
    asked = parser.parse_args()
    if asked.pictures is not None:
        asked.pictures.mkdir(parents=True, exist_ok=True)
    names = every(asked.folder) if asked.every else PAGES

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """A browser that has gone on leaves requests unread."""

    server = Server(("127.0.0.1", 0), partial(Quiet, directory=str(asked.folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        wrong = [*without_scripts(browser, address), *menu_by_keys(browser, address), *search(browser, address)]
        for size in SIZES:
            wrong += visit(browser, address, size, names, asked.pictures)
        wrong += text_without_scripts(browser, address, names)
        version = browser.version
        browser.close()
    server.shutdown()
    if asked.every:
        seen = {
            "command": "python docs/site/look.py --every",
            "chromium": version,
            "sizes": SIZES,
            "schemes": ["light", "dark"],
            "pages": names,
            "faults": wrong,
        }
        LOOKED.write_text(json.dumps(seen, indent=1) + "\n", encoding="utf-8")
    if wrong:
        sys.exit("\n".join(["What readers would trip over:", *wrong]))
    print(f"{len(names)} pages, {len(SIZES)} sizes, light and dark: nothing to trip over.")


if __name__ == "__main__":
    main()
