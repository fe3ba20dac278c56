"""What the assistant's tools do, on real files and real processes, and what they refuse."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentscope_reme.chat.processes import Output
from tests.chat.conftest import Begin
from tests.chat.talk import Talk
from tests.forgetting.life import PNG


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_a_command_runs_in_the_memory_folder(talk: Talk) -> None:
    talk.answers = ["yes", "yes"]
    assert await talk.call("bash", command="pwd; echo oops >&2") == f"{talk.root}\noops"
    assert await talk.call("bash", command="exit 3") == "(no output)\n[exit code 3]"
    assert [q.detail for q in talk.questions] == ["pwd; echo oops >&2", "exit 3"]


async def test_out_of_time_everything_it_started_is_killed(talk: Talk, tmp_path: Path) -> None:
    talk.answers = ["yes"]
    pids = tmp_path / "pids"
    command = f"sleep 300 & echo $! $$ > {pids}; echo begun; wait"
    answer = await talk.call("bash", command=command, timeout=0.5)
    assert answer.startswith("begun\n[Killed after 0.5 seconds.")
    assert [alive(int(pid)) for pid in pids.read_text().split()] == [False, False]


async def test_a_child_left_behind_ends_with_its_command(talk: Talk, tmp_path: Path) -> None:
    talk.answers = ["yes"]
    answer = await talk.call("bash", command=f"sleep 300 & echo $! > {tmp_path / 'pid'}; echo ok")
    assert answer == "ok"
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are of Unix")
@pytest.mark.parametrize("has_bash", [True, False])
async def test_a_command_is_alone_with_its_children(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, has_bash: bool
) -> None:
    """The watcher beside it is none of its children, and its standard input is empty."""
    which = shutil.which
    monkeypatch.setattr(
        "shutil.which", lambda name: which(name) if has_bash or name != "bash" else None
    )
    talk.answers = ["yes"] * 3
    waits = "import os\ntry: os.wait()\nexcept ChildProcessError: print('alone')"
    assert await talk.call("execute_code", code=waits) == "alone"
    assert await talk.call("bash", command="sleep 0.01 & wait; echo done") == "done"
    code = "import sys; print(repr(sys.stdin.read()))"
    assert await talk.call("bash", command=f'{sys.executable} -c "{code}"') == "''"


async def test_a_flood_keeps_its_head_and_its_tail(talk: Talk) -> None:
    talk.answers = ["yes"]
    answer = await talk.call("bash", command="echo first; yes | head -c 3000000; echo last")
    assert answer.startswith("first\ny\n")
    assert answer.endswith("y\nlast")
    assert "bytes left out ...]" in answer
    assert len(answer) < 30_000


def test_an_output_says_how_much_is_missing() -> None:
    output = Output()
    output.add(b"a" * 11_000)
    output.add(b"b" * 20_000)
    output.add(b"c")
    assert output.text.startswith("a" * 11_000 + "b" * 1000)
    assert "[... 7001 of 31001 bytes left out ...]" in output.text
    assert output.text.endswith("b" * 11_999 + "c")


async def test_keys_are_not_in_the_environment_of_a_command(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REME_LLM_API_KEY", "EMBEDDING_API_KEY", "TAVILY_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-secret")
    monkeypatch.setenv("PLAIN", "visible")
    talk.answers = ["yes", "yes"]
    assert "sk-secret" not in (answer := await talk.call("bash", command="env"))
    assert "PLAIN=visible" in answer
    code = "import os; print([k for k in os.environ if k.endswith('_KEY')])"
    assert await talk.call("execute_code", code=code) == "[]"


async def test_code_runs_in_a_process_of_its_own(talk: Talk) -> None:
    talk.answers = ["yes", "yes", "yes"]
    code = "import os\nprint('我', os.getpid())"
    said, pid = (await talk.call("execute_code", code=code)).split()
    assert said == "我"
    assert int(pid) != os.getpid()
    assert "ZeroDivisionError" in await talk.call("execute_code", code="1/0")
    answer = await talk.call("execute_code", code="while True: pass", timeout=0.3)
    assert "[Killed after 0.3 seconds." in answer


async def test_no_means_no_and_always_is_not_asked_again(talk: Talk, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    talk.answers = ["no", "always"]
    assert "did not allow" in await talk.call("bash", command=f"touch {mark}")
    assert not mark.exists()
    await talk.call("bash", command="true")
    await talk.call("bash", command=f"touch {mark}")
    assert mark.exists()
    assert len(talk.questions) == 2


async def test_deny_and_allow_ask_nobody(begin: Begin, tmp_path: Path) -> None:
    denied = await begin(chat__permission="deny")
    assert "did not allow" in await denied.call("bash", command="true")
    await denied.close()
    allowed = await begin(chat__permission="allow")
    assert await allowed.call("bash", command="echo done") == "done"
    assert not denied.questions + allowed.questions


async def test_files_of_the_memory_are_written_with_their_folders(talk: Talk) -> None:
    assert "Created" in await talk.call("write", path="memory/projects/tea.md", content="# Tea\n")
    assert "Created" in await talk.call("write", path="poems/one.txt", content="roses\n")
    assert (talk.root / "poems/one.txt").read_text("utf-8") == "roses\n"
    assert "Edited" in await talk.call("edit", path="memory/projects/tea.md", old="Tea", new="茶")
    assert (talk.root / "memory/projects/tea.md").read_text("utf-8") == "# 茶\n"
    history = (await talk.assistant.memory._memory.history()).changes
    assert {change.actor for change in history} == {"agent"}
    assert not talk.questions


@pytest.mark.parametrize(
    "path", ["daily/2026-01-01/x.md", "digest/wiki/x.md", "session/x.jsonl", "resource/x.txt"]
)
async def test_what_the_memory_writes_is_left_to_it(talk: Talk, path: str) -> None:
    assert "the memory writes this by itself" in await talk.call("write", path=path, content="x")
    assert not (talk.root / path).exists()


@pytest.mark.parametrize("path", ["metadata/x", "journal/x.jsonl", ".locks/x", "trash/x", "a\0b"])
async def test_the_librarys_own_files_are_not_reached(talk: Talk, path: str) -> None:
    answer = await talk.call("write", path=path, content="x")
    assert "failed" in answer
    assert "failed" in await talk.call("read", path=path)


async def test_writing_elsewhere_is_asked_first(talk: Talk, tmp_path: Path) -> None:
    place = tmp_path / "deep" / "note.txt"
    talk.answers = ["no", "yes", "yes"]
    assert "did not allow" in await talk.call("write", path=str(place), content="hello")
    assert not place.parent.exists()
    assert "Created" in await talk.call("write", path=str(place), content="hello")
    assert "Edited" in await talk.call("edit", path=str(place), old="hello", new="goodbye")
    assert place.read_text() == "goodbye"
    assert [q.what for q in talk.questions] == [f"Write {place}?"] * 3
    assert talk.questions[2].detail == "- hello\n+ goodbye"


async def test_reading_elsewhere_is_asked_first(begin: Begin, tmp_path: Path) -> None:
    (folder := tmp_path / "project").mkdir()
    talk = await begin(folder)
    key = tmp_path / "key"
    key.write_text("top secret")
    (folder / "link").symlink_to(key)
    (talk.root / "memory/link.md").symlink_to(key)
    (tmp_path / "cat.png").write_bytes(PNG)
    calls = [
        ("read", {"path": str(key)}, f"Read {key}?"),
        ("read", {"path": str(folder / "link")}, f"Read {key}?"),
        ("read", {"path": "memory/link.md"}, f"Read {key}?"),
        ("read", {"path": str(tmp_path / "cat.png")}, f"Read {tmp_path / 'cat.png'}?"),
        ("ls", {"path": str(tmp_path)}, f"List {tmp_path}?"),
        ("edit", {"path": str(key), "old": "top", "new": "x"}, f"Read {key}?"),
    ]
    for name, given, question in calls:
        talk.answers = ["no"]
        answer = await talk.call(name, **given)
        assert "did not allow" in answer
        assert "secret" not in answer
        assert talk.questions[-1].what == question
    talk.answers = ["yes"]
    assert "top secret" in await talk.call("read", path=str(key))
    assert "no such file" in await talk.call("read", path=str(tmp_path / "gone"))
    assert len(talk.questions) == len(calls) + 1


@pytest.mark.parametrize("name", [".env", ".ssh/id_ed25519", ".config/key.txt"])
async def test_so_is_what_is_hidden_in_the_folder(talk: Talk, tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("top secret")
    (tmp_path / "open.txt").write_text("open")
    talk.answers = ["no"]
    assert "did not allow" in await talk.call("read", path=str(tmp_path / name))
    assert "open" in await talk.call("read", path=str(tmp_path / "open.txt"))
    assert "open.txt" in await talk.call("ls", path=str(tmp_path))
    assert [question.what for question in talk.questions] == [f"Read {tmp_path / name}?"]


async def test_home_is_where_the_person_is_at_home(
    talk: Talk, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "notes.txt").write_text("top secret")
    monkeypatch.setenv("HOME", str(home))
    talk.answers = ["no"]
    assert "did not allow" in await talk.call("read", path="~/notes.txt")
    assert talk.questions[0].what == f"Read {home / 'notes.txt'}?"


async def test_a_link_out_of_the_memory_is_no_way_around(talk: Talk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (talk.root / "memory/link").symlink_to(outside)
    talk.answers = ["no", "no"]
    await talk.call("write", path="memory/link/x.md", content="x")
    await talk.call("write", path="memory/../../outside/x.md", content="x")
    assert not list(outside.iterdir())
    assert len(talk.questions) == 2


async def test_an_edit_must_fit_exactly_and_once(talk: Talk, tmp_path: Path) -> None:
    place = tmp_path / "code.py"
    place.write_bytes(b"a = 1\r\nb = 1\r\n")
    talk.answers = ["yes"]
    assert "does not stand in" in await talk.call("edit", path=str(place), old="c = 1", new="x")
    assert "2 times" in await talk.call("edit", path=str(place), old="= 1", new="= 2")
    assert "nothing to replace" in await talk.call("edit", path=str(place), old="", new="x")
    assert len(talk.questions) == 0
    await talk.call("edit", path=str(place), old="a = 1\n", new="a = 3\n")
    assert place.read_bytes() == b"a = 3\r\nb = 1\r\n"


async def test_a_long_file_is_read_in_parts(talk: Talk, tmp_path: Path) -> None:
    place = tmp_path / "long.txt"
    place.write_text("".join(f"line {n}\n" for n in range(1, 10_001)), encoding="utf-8")
    whole = await talk.call("read", path=str(place))
    assert whole.startswith("line 1\nline 2\n")
    assert "Read on with start_line=" in whole
    part = await talk.call("read", path=str(place), start_line=9_999)
    assert part == "line 9999\nline 10000\n[Lines 9999-10000 of 10000.]"
    assert "no such file" in await talk.call("read", path="nowhere.txt")
    assert "folder" in await talk.call("read", path="memory")


async def test_a_picture_is_shown_to_the_model(talk: Talk, tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(PNG)
    answer = await talk.call("read", path=str(tmp_path / "cat.png"))
    assert "image/png" in answer
    shown = [url for request in talk.provider.chats for url in request.images]
    assert base64.b64encode(PNG).decode() in shown[-1]


async def test_ls_shows_folders_and_hides_the_librarys_own(talk: Talk, tmp_path: Path) -> None:
    (talk.root / "memory/a.md").write_text("x", encoding="utf-8")
    answer = await talk.call("ls", path=".", depth=2)
    assert "memory/\n  a.md  1 bytes" in answer
    assert "metadata" not in answer
    assert "journal" not in answer
    many = tmp_path / "many"
    many.mkdir()
    for number in range(600):
        (many / f"{number:03}").touch()
    answer = await talk.call("ls", path=str(many))
    assert answer.count("bytes") == 500
    assert "Only the first 500" in answer


@pytest.fixture
def tavily() -> Iterator[HTTPServer]:
    """A web search on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            asked = json.loads(self.rfile.read(length))
            server: Any = self.server
            server.asked.append((self.path, self.headers["Authorization"], asked))
            good = asked["query"] != "nonsense"
            rows = [{"title": "Tea", "url": "https://tea.example", "content": "Green  tea."}]
            data = json.dumps({"results": rows} if good else {"detail": "no"}).encode()
            self.send_response(200 if good else 432)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server: Any = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


async def test_the_web_is_searched_with_a_key(begin: Begin, tavily: Any) -> None:
    address = f"http://127.0.0.1:{tavily.server_address[1]}"
    talk = await begin(chat__tavily_api_key="tvly-1", chat__tavily_base_url=address)
    answer = await talk.call("web_search", query="green tea", max_results=3)
    assert answer == "Tea\nhttps://tea.example\nGreen tea."
    path, key, asked = tavily.asked[0]
    assert (path, key) == ("/search", "Bearer tvly-1")
    assert (asked["query"], asked["max_results"]) == ("green tea", 3)
    assert "432" in await talk.call("web_search", query="nonsense")


async def test_without_a_key_there_is_no_web_search(talk: Talk) -> None:
    talk.provider.reply("ok")
    await talk.say("hello")
    assert "web_search" not in talk.provider.chats[0].tool_names


async def test_wrong_arguments_are_told_in_words(talk: Talk) -> None:
    answer = await talk.call("bash", command="true", timeout=-1)
    assert "do not fit" in answer or "validation failed" in answer  # ours, or AgentScope 2.x's
    assert "Error: No query provided." in await talk.call("memory_search", query=" ")
    assert not talk.questions


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a system without /proc")
async def test_what_only_looks_like_a_file_is_not_touched(talk: Talk, tmp_path: Path) -> None:
    for path in ("/proc/self/environ", "/proc/kmsg", "/dev/zero", "/sys/kernel/uevent_seqnum"):
        assert "no plain file" in await talk.call("read", path=path)
    os.mkfifo(tmp_path / "pipe")
    talk.answers = ["yes"]
    answer = await talk.call("write", path=str(tmp_path / "pipe"), content="nobody reads")
    assert "no plain file" in answer
