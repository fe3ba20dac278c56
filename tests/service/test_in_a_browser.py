"""A hostile page in a real Chromium, and a name that is pointed at this machine, against a service.

The service needs no token here: what keeps the page out is what it cannot choose.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.service.browser import CHROMIUM
from tests.service.conftest import SECRET
from tests.service.processes import bytes_of, running

WRITE = json.dumps({"path": "digest/wiki/evil.md", "content": "evil"})

PAGE = """<!doctype html><meta charset="utf-8"><title>a page</title><pre id="told"></pre>
<form id="form" method="post" enctype="text/plain" target="frame" action="SERVICE/write">
<input name='{"path": "digest/wiki/form.md", "content": "evil' value='"}'></form>
<iframe name="frame"></iframe>
<script>
const body = WRITE, service = "SERVICE", told = {};
const json = {"Content-Type": "application/json"};
const ways = {
  fetch: () => fetch(service + "/write", {method: "POST", body, headers: json}),
  simple: () => fetch(service + "/write", {method: "POST", body}),
  blind: () => fetch(service + "/write", {method: "POST", body, mode: "no-cors"}),
  stream: () => fetch(service + "/search", {method: "POST", body: '{"query": "code"}', headers:
      {"Content-Type": "application/json", "Accept": "text/event-stream"}}),
  document: () => fetch(service + "/openapi.json"),
  health: () => fetch(service + "/health"),
};
const other = {
  beacon: () => navigator.sendBeacon(service + "/write", new Blob([body], {type: "text/plain"})),
  form: () => document.getElementById("form").submit(),
  socket: () => new Promise((done) => {
    const socket = new WebSocket(service.replace("http", "ws") + "/mcp");
    socket.onopen = () => done("open"); socket.onerror = () => done("refused"); }),
  script: () => new Promise((done) => {
    const script = document.createElement("script");
    script.src = service + "/openapi.json"; script.onload = () => done("loaded");
    script.onerror = () => done("refused"); document.head.append(script); }),
};
(async () => {
  for (const [name, way] of Object.entries(ways)) {
    try {
      const answer = await way();
      told[name] = answer.type + " " + answer.status + " " + await answer.text();
    } catch (error) { told[name] = "refused"; }
  }
  for (const [name, way] of Object.entries(other)) {
    try { told[name] = String(await way()); } catch (error) { told[name] = "refused"; }
  }
  document.getElementById("told").textContent = JSON.stringify(told);
})();
</script>"""


@contextmanager
def page_against(service: str) -> Iterator[int]:
    """A web server with a page that tries what a page can; its port."""
    page = PAGE.replace("WRITE", json.dumps(WRITE)).replace("SERVICE", service)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def shown(url: str, profile: Path) -> str:
    """What Chromium makes of an address."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--host-resolver-rules=MAP evil.example 127.0.0.1",
            "--virtual-time-budget=10000",
            "--dump-dom",
            url,
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_a_page_of_another_origin_changes_and_reads_nothing(folder: Path, host: str) -> None:
    with running(folder, "token=none") as service:
        card = {"path": "digest/wiki/secret.md", "content": f"The code is {SECRET}."}
        assert service.ask("/write", card).status == 200
        before = bytes_of(service.workspace)
        with page_against(service.url) as port:
            dom = shown(f"http://{host}:{port}/", folder / "profile")
        found = re.search(r'<pre id="told">(.+?)</pre>', dom, flags=re.S)
        assert found, dom
        told = json.loads(html.unescape(found[1]))
        assert told.pop("blind").strip() in ("opaque 0", "refused")
        assert told.pop("beacon") in ("true", "false")  # sent or not, nobody took it
        assert told.pop("form") == "undefined"
        assert set(told.values()) == {"refused"}, told
        assert SECRET not in dom
        assert bytes_of(service.workspace) == before


def test_a_name_pointed_at_this_machine_is_not_this_machine(folder: Path) -> None:
    with running(folder, "token=none") as service:
        card = {"path": "digest/wiki/secret.md", "content": f"The code is {SECRET}."}
        assert service.ask("/write", card).status == 200
        before = bytes_of(service.workspace)
        rebound = f"http://evil.example:{service.port}"
        assert "does not name this service" in shown(f"{rebound}/health", folder / "profile")
        with page_against(rebound) as port:
            dom = shown(f"http://evil.example:{port}/", folder / "profile")
        assert SECRET not in dom
        assert bytes_of(service.workspace) == before
