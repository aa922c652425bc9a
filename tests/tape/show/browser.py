"""Headless Chromium, driven without anything being fetched: browser and driver are those of the system."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync --hide-scrollbars"
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

LAPTOP, PHONE = (1440, 900), (390, 844)
SHOWN = ".row, .episode, .notice"


def missing() -> str:
    """What is missing for tests in a browser; empty where nothing is."""
    if importlib.util.find_spec("selenium") is None:
        return "selenium is not installed"
    if _browser() is None:
        return f"there is none of {', '.join(BROWSERS)}"
    return "" if shutil.which("chromedriver") else "there is no chromedriver"


def _browser() -> str | None:
    return next((text for name in BROWSERS if (text := shutil.which(name))), None)


class Browser:
    """A window, and what a person does in it."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def open(
        self, page: Path | str, where: str = "", size: tuple[int, int] = LAPTOP, dark: bool = False, until: str = SHOWN
    ) -> None:
        """Open a page from the disk or at an address, and wait until something is there."""
        width, height = size
        phone = size == PHONE
        metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self._driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self._driver.get("about:blank")
        self._driver.get((page.as_uri() if isinstance(page, Path) else page) + where)
        self.wait(until)

    def all(self, selector: str) -> list[Any]:
        values: list[Any] = self._driver.find_elements("css selector", selector)
        return values

    def until(self, holds: Callable[[], Any], what: str) -> Any:
        """What a question says, as soon as it holds; asked again where the page was drawn anew between two looks."""
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.wait import WebDriverWait

        redrawn = (StaleElementReferenceException,)
        wait = WebDriverWait(self._driver, 20, poll_frequency=0.02, ignored_exceptions=redrawn)
        return wait.until(lambda _: holds(), what)

    def wait(self, selector: str) -> Any:
        """The first element that a selector finds, as soon as there is one."""
        return self.until(lambda: next(iter(self.all(selector)), None), selector)

    def click(self, selector: str, place: int = 0) -> None:
        def clicked() -> bool:
            result = self.all(selector)[place:]
            if result:
                result[0].click()
            return bool(result)

        self.until(clicked, selector)

    def move_to(self, selector: str, place: int = 0) -> None:
        """Move the mouse there."""
        self._actions().move_to_element(self.all(selector)[place]).perform()

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        self._actions().send_keys(*keys).perform()

    def _actions(self) -> Any:
        from selenium.webdriver import ActionChains

        return ActionChains(self._driver)

    def text(self, selector: str = "body") -> str:
        return str(self.until(lambda: [item.text for item in self.all(selector)[:1]], selector)[0])

    def says(self, selector: str, text: str) -> bool:
        """Whether a text can be read, as soon as it can: what is unfolded is filled in after the click."""
        return bool(self.until(lambda: text in self.text(selector), text))

    def do(self, script: str, *values: Any) -> Any:
        """What a function body returns."""
        return self._driver.execute_script(script, *values)

    def back(self) -> None:
        self._driver.back()

    def too_wide(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.do("const d = document.documentElement; return d.scrollWidth - d.clientWidth;"))

    def complaints(self) -> list[str]:
        """What the console holds since it was asked last."""
        return [str(entry["message"]) for entry in self._driver.get_log("browser")]


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile; it is closed at the end."""
    os.environ |= {"SE_OFFLINE": "true", "SE_AVOID_STATS": "true"}  # no driver is looked for anywhere
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = _browser()
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}", "--window-size=1440,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
