"""The pages in a real browser, Debian's chromium: with a mouse, with keys alone, without scripts, on a phone."""

import shutil
import socket
import threading
import time

import pytest

import holdtrue as ht

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no chromium on this machine; install it to run these", allow_module_level=True)

# Every text against what is behind it: WCAG asks for 4.5, for large text 3.
CONTRAST = """() => {
  const rgb = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const low = [];
  for (const e of document.querySelectorAll("main *, header *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || e.closest("svg, .hidden, .first, option")) continue;
    const s = getComputedStyle(e), [a, b] = [light(rgb(s.color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const least = parseFloat(s.fontSize) >= 24 ? 3 : 4.5;
    if (ratio < least) low.push(`${e.tagName} ${e.textContent.trim()} ${ratio}`);
  }
  return low;
}"""


# Every field and every button has a name that is read out.
UNNAMED = """() => [...document.querySelectorAll('input:not([type=hidden]), select, textarea')]
  .filter((e) => !e.labels.length && !e.ariaLabel).map((e) => e.name)
  .concat([...document.querySelectorAll('a, button, iframe')]
  .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.title)).map((e) => e.outerHTML))"""
# What makes a page wider than its window; a long word that leaves its box makes no box wider.
TOO_WIDE = """() => { const width = document.documentElement.clientWidth;
  return document.documentElement.scrollWidth <= width ? [] : ["the page",
    ...[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1)
    .map((e) => e.outerHTML.slice(0, 150))]; }"""
# What a mouse can use, and whether the focus has been there. Of choices that exclude one another Tab comes to one;
# the arrows go on from there.
USABLE = """() => {
  const all = [...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex="0"]')]
  .filter((e) => e.tabIndex >= 0 && !e.disabled && e.type !== 'hidden' && e.checkVisibility())
  .filter((e) => e.type !== 'radio' || e === document.querySelector(`input[type=radio][name="${e.name}"]`));
  window.usable = all; return all.length; }"""

# What whoever does not see a page, or points with a thumb, would miss: levels of headings in order, ids that are
# one element's, labels that are there, tables and pictures that say what they are, targets of 24 pixels or apart.
MISSED = """() => {
  const out = [], all = (s) => [...document.querySelectorAll(s)], shown = (e) => e.checkVisibility();
  let last = 0;
  for (const h of all("h1, h2, h3, h4").filter(shown)) {
    const level = Number(h.tagName[1]);
    if (level > last + 1) out.push(`a level left out before ${h.textContent.trim()}`);
    last = level;
  }
  const ids = all("[id]").map((e) => e.id);
  out.push(...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `two of ${id}`));
  for (const name of ["aria-labelledby", "aria-describedby", "for"])
    for (const e of all(`[${name}]`))
      for (const id of e.getAttribute(name).split(" "))
        if (!document.getElementById(id)) out.push(`${name} ${id} is not there`);
  for (const t of all("table")) if (!t.caption?.textContent.trim()) out.push("a table without a caption");
  for (const t of all("th")) if (!t.scope) out.push(`no scope: ${t.textContent}`);
  for (const t of all("svg")) if (!t.querySelector("title")) out.push("a picture without words");
  for (const t of all("li")) if (!t.closest("ul, ol")) out.push("an item of no list");
  for (const [what, n] of [["main", 1], ["header", 1], ["[lang]", 1], ["meta[name=viewport]", 1]])
    if (all(what).length !== n) out.push(`not one ${what}`);
  if (all("meta[name=viewport]")[0].content.includes("scalable=no")) out.push("cannot be enlarged");
  const targets = all("a[href], button, input:not([type=hidden]), select, textarea")
    .filter((e) => shown(e) && e.tabIndex >= 0 && getComputedStyle(e).clipPath === "none"
      && !e.classList.contains("skip"))
    .map((e) => [e, (e.closest("label") || e).getBoundingClientRect()]);
  const small = targets.filter(([, b]) => b.width < 24 || b.height < 24);
  const mid = (b) => [b.x + b.width / 2, b.y + b.height / 2];
  const near = (a, b) => Math.hypot(mid(a)[0] - mid(b)[0], mid(a)[1] - mid(b)[1]);
  for (const [e, a] of small)  // a small one may stand alone: no other within 24 pixels
    if (targets.some(([f, b]) => f !== e && near(a, b) < 24))
      out.push(`too near to another: ${e.outerHTML.slice(0, 90)}`);
  return out;
}"""


def reached(page):
    """What on a page the Tab key does not come to."""
    n = page.evaluate(USABLE)
    page.evaluate("window.been = new Set(); document.activeElement.blur()")
    left = n
    for _ in range(2 * n + 10):
        page.keyboard.press("Tab")
        left = page.evaluate("been.add(document.activeElement), usable.filter((e) => !been.has(e)).length")
        if not left:
            return []
    return page.evaluate("usable.filter((e) => !been.has(e)).map((e) => e.outerHTML.slice(0, 120))")


@pytest.fixture(scope="module")
def address(world):
    """The application on a port; the service behind it runs already."""
    import uvicorn

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(world.app, port=port, lifespan="off", log_config=None, log_level="critical", ws="none")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < until
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, address, world):
    """Open the pages as somebody; what the browser complains about, or asks of another place, fails the test."""
    contexts, wrong = [], []

    def enter(role, **how):
        context = browser.new_context(**how)
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith(address) else None)
        page.goto(address)
        page.fill("#key", world.tokens[role])
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('Applicants'), h1:has-text('Promises')")
        return page

    yield enter
    for context in contexts:
        context.close()
    assert wrong == []


def somebody(world, n_options=2):
    """The position of somebody with so many options."""
    people = [i for i, one in enumerate(world.applicants.decided(world.service)) if one["decision"] == 0]
    asked = {"people": [world.applicants.rows[i] for i in people[:20]], "options": 2}
    answers = world.officer.post("/v1/recourse", json=asked).json()["answers"]
    row = next(i for i, one in zip(people, answers, strict=False) if len(one["options"]) == n_options)
    world.ledger.forget(world.applicants.subjects[row])  # whom another test has promised something
    return row


def test_from_an_applicant_to_a_letter(visit, world, address):
    row = somebody(world)
    page = visit("officer")
    page.fill("#q", f"application {row}")
    page.click("text=Find >> nth=-1")
    page.click(f"a:text-is('application {row}')")
    page.wait_for_selector(".option")
    assert page.locator(".option").count() == 2
    assert page.locator(".option svg.path").count() == 2
    fix = page.locator("button[name=fix]").first
    i, title = fix.get_attribute("value"), fix.get_attribute("aria-label").removeprefix("Not to be changed: ")
    page.evaluate("window.same = true")
    fix.click()
    page.wait_for_selector(f"#m{i} option[value=fixed]:checked", state="attached")
    assert float(page.inner_text(".took").removesuffix(" s")) < 1.0
    assert page.evaluate("window.same")  # the page was not loaded again
    assert page.locator(f"button[aria-label='Not to be changed: {title}']").count() == 0
    page.select_option(f"#m{i}", "")  # and a restriction is taken back by hand
    page.wait_for_selector(f"button[aria-label='Not to be changed: {title}']")
    page.fill("#days", "45")
    page.click("text=Promise option 2")
    page.wait_for_selector("h1:has-text('Promise this?')")
    page.click("text=Issue the promise")
    page.wait_for_selector("h1:has-text('Promised')")
    id = page.url.rsplit("/", 1)[1]
    record = world.ledger.promise(id).record
    assert record.subject == f"application {row}"
    assert record.method["option"] == 1
    letter = page.frame_locator("#letter")
    assert record.changes in letter.locator("li").inner_text()
    page.evaluate("document.getElementById('letter').contentWindow.print = () => { window.printed = true }")
    page.click("text=Print the letter")
    assert page.evaluate("window.printed")
    page.goto(f"{address}/desk/promises/{id}/letter")
    assert len(page.pdf()) > 1000


def test_with_keys_alone(visit, world):
    row = somebody(world)
    page = visit("officer")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.goto(f"{page.url.rsplit('/', 1)[0]}/desk/{row}")

    def to(selector):
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline == "solid", selector
                return
        raise AssertionError(selector)

    to("button[name=fix]")
    i = page.evaluate("document.activeElement.value")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"#m{i} option[value=fixed]:checked", state="attached")
    to("button[name=option]")
    page.keyboard.press("Space")
    page.wait_for_selector("h1:has-text('Promise this?')")
    to("main button.main")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:has-text('Promised')")


def test_enter_in_a_field_promises_nothing(visit, world):
    page = visit("officer", java_script_enabled=False)
    row = somebody(world)
    before = world.ledger.head().seq
    page.goto(f"{page.url.rsplit('/', 1)[0]}/desk/{row}")
    page.focus("#subject")
    page.keyboard.press("Enter")
    page.wait_for_url("**/desk/case")
    assert world.ledger.head().seq == before


def test_without_scripts(visit, world):
    row = somebody(world)
    page = visit("officer", java_script_enabled=False)
    page.goto(f"{page.url.rsplit('/', 1)[0]}/desk/{row}")
    fix = page.locator("button[name=fix]").first
    i = fix.get_attribute("value")
    fix.click()
    page.wait_for_selector(f"#m{i} option[value=fixed]:checked", state="attached")
    page.select_option(f"#m{i}", "")
    page.locator("main button:has-text('Find options') >> nth=-1").click()
    page.wait_for_selector(f"button[name=fix][value='{i}']")
    page.locator("button[name=option]").first.click()
    page.click("text=Issue the promise")
    page.wait_for_selector("h1:has-text('Promised')")
    assert page.locator("#print").is_hidden()
    assert page.get_by_text("Open the letter by itself").is_visible()


def can_be_read(page, path):
    """What everybody needs of a page, however they look at it."""
    page.wait_for_load_state()  # its style too
    assert page.evaluate(TOO_WIDE) == [], path
    assert page.evaluate(CONTRAST) == [], path
    assert page.evaluate(UNNAMED) == [], path
    assert page.evaluate("document.querySelectorAll('h1').length") == 1, path
    assert page.title() not in ("", " · holdtrue"), path
    assert page.evaluate(MISSED) == [], path
    assert reached(page) == [], path


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "light"), (390, "dark")])
def test_fits_its_window_and_can_be_read(visit, world, clf, width, scheme):
    page = visit("admin", viewport={"width": width, "height": 844}, color_scheme=scheme)
    home = page.url.rsplit("/", 1)[0]
    row = somebody(world)
    issued = world.officer.post(
        "/v1/records", json={"subject": "application 1", "person": world.applicants.rows[row]}
    )
    id = issued.json()["id"]
    ht.gate(clf.at_threshold(0.999), world.ledger, alternatives=0).write(world.service.gates.place)  # breaks it
    paths = ["/desk", f"/desk/{row}", "/desk/promises", f"/desk/promises/{id}", "/oversight",
             "/oversight/promises?state=live", f"/oversight/promises/{id}",
             "/oversight/cases?report=gate"]  # fmt: skip
    for path in paths:
        answer = page.goto(home + path)
        assert answer.ok, path
        can_be_read(page, path)
    page.goto(f"{home}/oversight/promises/{id}")
    page.click("text=Verify the chain")
    page.wait_for_selector("text=It is whole.")
    can_be_read(page, "what was verified")
    page.goto(f"{home}/desk/{row}")
    page.locator("button[name=option]").first.click()
    page.wait_for_selector("h1:has-text('Promise this?')")
    can_be_read(page, "what is about to be promised")
    page.click("text=Log out")
    page.wait_for_selector("#key")
    can_be_read(page, "the way in")
    world.ledger.forget("application 1")


def test_faults_of_a_page_are_found(browser):
    page = browser.new_page()
    good = """<!doctype html><html lang="en"><head><meta name="viewport" content="width=device-width"></head><body>
    <header></header><main><h1>a</h1><h2>b</h2><table><caption>c</caption><tr><th scope="col">d</th></tr></table>
    <label for="e">e</label><input id="e" style="height: 30px"></main></body></html>"""
    page.set_content(good)
    assert page.evaluate(MISSED) == []
    for right, wrong, said in [
        ("h2", "h4", "a level left out"),
        ('id="e"', 'id="f"', "for e is not there"),
        ("<caption>c</caption>", "", "a table without a caption"),
        (' scope="col"', "", "no scope"),
        ("<h2>b</h2>", "<a href='#'>x</a> <a href='#'>y</a>", "too near"),
        ("<header></header>", "", "not one header"),
        ("<h2>", "<svg></svg><h2>", "a picture without words"),
    ]:
        page.set_content(good.replace(right, wrong))
        assert any(one.startswith(said) for one in page.evaluate(MISSED)), said
    page.close()


def test_hostile_texts_run_nothing(visit, world):
    text = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    page = visit("officer")
    page.goto(f"{page.url.rsplit('/', 1)[0]}/desk/{somebody(world)}")
    page.fill("#subject", text)
    page.locator("button[name=option]").first.click()
    page.click("text=Issue the promise")
    page.wait_for_selector("h1:has-text('Promised')")
    assert page.locator("dd").first.inner_text() == text
    assert text in page.frame_locator("#letter").locator("body").inner_text()
    world.ledger.forget(text)


def test_oversight(visit, world):
    page = visit("validator")
    page.select_option("#group", "male")
    page.click("text=Run the gate")
    page.wait_for_selector("text=The model passes.")
    assert page.locator("svg.versions circle").count() >= 1


def test_a_second_promise_is_noticed(visit, world):
    """Without scripts too: what is live is shown, and nothing is issued before it is said what becomes of it."""
    row = somebody(world)
    subject = world.applicants.subjects[row]
    page = visit("admin", java_script_enabled=False)
    home = page.url.rsplit("/", 1)[0]
    for n in range(2):
        page.goto(f"{home}/desk/{row}")
        assert page.locator(".promised").count() == n
        page.locator("button[name=option]").first.click()
        assert page.locator("input[name=instead]").count() == 2 * n
        if n:
            page.click("text=Issue the promise")  # the browser asks for a choice
            assert world.ledger.live_counts([subject]) == {subject: 1}
            page.locator("input[name=instead]").first.check()
        page.click("text=Issue the promise")
        page.wait_for_selector("h1:has-text('Promised')")
    assert world.ledger.live_counts([subject]) == {subject: 1}
    page.goto(f"{home}/desk/promises?q={subject}".replace(" ", "+"))
    assert page.locator(".pill").all_inner_texts() == ["live", "replaced"]
    page.click("text=write it down")
    page.click("#came-back button")
    page.wait_for_selector("h1:has-text('was kept')")
    page.click("text=What it rests on")
    page.wait_for_selector("text=The served model keeps it.")
    page.click("text=Verify the chain")
    page.wait_for_selector("text=It is whole.")
