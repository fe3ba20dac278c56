"""The demo: talk, close, and remember in a new process.

    python examples/demo.py [--conversation file.json] [--workspace folder]

Phase 1 hands the sessions of a conversation to the memory as they are; the last session of the
bundled conversation is talked through live with a real agent instead. Phase 2 is another process:
it opens the same workspace with a new agent and asks questions. Without ``--workspace`` the memory
is kept in ``.demo/`` of this project, which ``make clean`` removes.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from conversations import Conversation, Session, UnreadableConversation, load_conversation
from demo_agent import Companion, DemoModel, NoAnswer, demo_model, try_out
from demo_questions import questions_for
from demo_recall import recall

from agentscope_reme import Message, ReMe

_HERE: Final = Path(__file__).resolve().parent
BUNDLED: Final = _HERE / "conversation" / "conversation.json"
KEPT: Final = _HERE.parent / ".demo"


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; 0 when it worked, 1 when an answer missed something or the model gave none, 2
    for a bad file."""
    parser = argparse.ArgumentParser(description="Talk, close, and remember in a new process.")
    parser.add_argument("--conversation", type=Path, default=BUNDLED, help="a JSON file")
    parser.add_argument("--workspace", type=Path, help="where to keep the memory")
    parser.add_argument("--recall", action="store_true", help="only ask: phase 2 of the demo")
    options = parser.parse_args(arguments)
    try:
        conversation = load_conversation(options.conversation)
    except UnreadableConversation as error:
        print(error, file=sys.stderr)
        return 2
    if options.recall and options.workspace is None:
        parser.error("--recall needs the --workspace of phase 1")
    try:
        return _run(options, conversation)
    except NoAnswer as error:
        print(error, file=sys.stderr)
    except Exception as error:  # noqa: BLE001 - a process edge; clients of models raise anything
        print(f"The demo stopped: {type(error).__name__}: {error}", file=sys.stderr)
    return 1


def _run(options: argparse.Namespace, conversation: Conversation) -> int:
    if options.recall:
        return 0 if asyncio.run(recall(options.workspace, questions_for(conversation))) else 1
    live = options.conversation.resolve() == BUNDLED
    workspace = asyncio.run(_tried_and_remembered(options.workspace, conversation, live=live))
    outcome = _in_a_new_process(options.conversation, workspace)
    print(f"\nThe memory stays in {workspace}" + _how_to_remove(workspace), flush=True)
    return outcome


async def _tried_and_remembered(
    workspace: Path | None, conversation: Conversation, *, live: bool
) -> Path:
    """In one event loop: a client of a model lets go of its connections in the loop it used."""
    await try_out(demo_model())
    place = workspace or _new_workspace()
    await remember(place, conversation, live=live)
    return place


def _new_workspace() -> Path:
    KEPT.mkdir(exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="memory-", dir=KEPT))


def _how_to_remove(workspace: Path) -> str:
    return "; `make clean` removes it." if KEPT in workspace.parents else "."


async def remember(workspace: Path, conversation: Conversation, *, live: bool) -> None:
    """Phase 1: every session as it is; with `live` the last one is talked through an agent."""
    chosen = demo_model()
    print(f"Model: {chosen.label}")
    print(f"Workspace: {workspace}\n")
    sessions = list(conversation.sessions)
    spoken = [sessions.pop()] if live else []
    async with ReMe(workspace, chat_model=chosen.model, formatter=chosen.formatter) as reme:
        for session in sessions:
            await _import(reme, session, images=chosen.sees_images)
        for session in spoken:
            await _replay(reme, chosen, session)
    print("\nClosed. Everything it knows is in files now.\n", flush=True)


async def _import(reme: ReMe, session: Session, *, images: bool) -> None:
    done = await reme.auto_memory(
        list(session.messages), session_id=session.session_id, include_images=images
    )
    if images and not done.success:  # a model by another name may read only: the words are saved
        print(f"  {done.answer}\n  Once more, without images.")
        done = await reme.auto_memory(session_id=session.session_id)
    outcome = done.path or ("saved, not distilled" if done.pending else "nothing to keep")
    print(f"{session.session_id}: {len(session.messages)} messages -> {outcome}")
    if not done.success:
        print(f"  {done.answer}")


async def _replay(reme: ReMe, chosen: DemoModel, session: Session) -> None:
    companion = Companion(reme, chosen, session.session_id, record=True)
    print(f"\n{session.session_id}, live:")
    for message in (Message.from_dict(row) for row in session.messages):
        if message.role == "user" and message.text:
            print(f"  {message.name}: {message.text}")
            print(f"  Companion: {await companion.say(message.text, message.name)}")
    await companion.leave()
    await reme.drain()  # the card is written in the background; only the demo waits for it
    left = await reme.auto_memory(session_id=session.session_id)
    print(f"{session.session_id}: {left.path or left.answer}")


def _in_a_new_process(conversation: Path, workspace: Path) -> int:
    command = [sys.executable, str(Path(__file__).resolve()), "--recall"]
    places = ["--conversation", str(conversation), "--workspace", str(workspace)]
    return subprocess.run([*command, *places], check=False).returncode  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
