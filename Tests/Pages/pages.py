"""What the checks of all pages share: the browser, waits, the contrast and the names of a page."""

import os
import shutil
import time

from playwright.sync_api import sync_playwright

DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}

CONTRAST = """() => {
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => parse(color).slice(0, 3).map(value => value / 255)
    .map(value => value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4)
    .reduce((sum, value, index) => sum + value * [.2126, .7152, .0722][index], 0);
  const back = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      const [, , , alpha = 1] = parse(color);
      if (alpha >= .5) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  let worst = [99];
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!hasText || !element.getClientRects().length) continue;
    if (element.closest('.unseen, .skip, dialog, script')) continue;
    const one = light(getComputedStyle(element).color);
    const other = light(back(element));
    const ratio = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    if (ratio < worst[0]) worst = [ratio, element.textContent.slice(0, 40), element.className];
  }
  return worst;
}"""

UNNAMED = """() => [...document.querySelectorAll('button, input, [role], a, summary, dialog')]
  .filter(element => !(element.getAttribute('aria-label') || element.getAttribute('title')
    || element.getAttribute('aria-labelledby') || element.textContent.trim()
    || ['status', 'region', 'alert'].includes(element.getAttribute('role'))))
  .map(element => element.outerHTML.slice(0, 80))"""

# Two frames, after which a page has drawn what was done before.
FRAMES = """() => new Promise(done => requestAnimationFrame(() =>
  requestAnimationFrame(() => setTimeout(done))))"""


# The limit of a wait for what surely happens, in seconds. Only a hang reaches it, and no busy machine does.
HANG = 300


def until(page, holds):
    """Waits until a function returns true, or up to the limit. Returns its last result."""
    end = time.monotonic() + HANG
    while not (found := holds()) and time.monotonic() < end:
        page.wait_for_timeout(50)
    return found


def wait_for(page, condition):
    """Waits for a condition without Playwright's own wait, which the policy of a page forbids."""
    met = page.evaluate(f"""async () => {{
      for (const end = performance.now() + {HANG * 1000}; performance.now() < end;) {{
        if ({condition}) return true;
        await new Promise(done => setTimeout(done, 10));
      }}
      return false;
    }}""")
    if not met:
        raise TimeoutError(condition)


def chromium():
    """Returns the path of Chromium; `None` for that of Playwright."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


def launch(playwright):
    """Returns a browser whose pages wait up to the limit."""
    browser = playwright.chromium.launch(
        executable_path=chromium(), args=["--no-sandbox", "--no-proxy-server"], timeout=HANG * 1000)
    make = browser.new_context

    def new_context(**options):
        context = make(**options)
        context.set_default_timeout(HANG * 1000)
        return context

    browser.new_context = new_context
    return browser


def in_browser(run):
    """Calls a function with a browser, and returns its result."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        try:
            return run(browser)
        finally:
            browser.close()


def watched(page):
    """Collects what a page reports and requests from now on. Returns the page."""
    page.problems, page.requests = [], []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.requests.append(request.url))
    page.on("dialog", lambda dialog: (page.problems.append("a dialog"), dialog.dismiss()))
    return page


class Checks:
    """Checks, each with a line of the output."""

    def __init__(self):
        self.failed = []

    def check(self, name, good, seen=""):
        """Prints whether a check is met; if not, with what was seen."""
        print("✓" if good else "✗", name, "" if good else seen, flush=True)
        if not good:
            self.failed.append(name)

    def status(self):
        """Prints how many checks failed, and returns the status of the program."""
        print(f"{len(self.failed)} failed")
        return 1 if self.failed else 0
