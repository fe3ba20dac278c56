"""Works out what a request to forget takes along: the whole chain from what was said to the digest.

Downwards, what rests only on what goes goes with it: the card of turns, the statements of a digest
node, the node. Upwards, the turns a card was made from go with the card, or it would be made again.
What rests on other sources as well stays, without the link to what went.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from agentscope_reme.files.archived import whole_id
from agentscope_reme.files.traces import words_of
from agentscope_reme.steps.forget_documents import Document, is_sources
from agentscope_reme.steps.forget_sessions import Conversation, LogLine
from agentscope_reme.steps.forget_summaries import SUMMARY
from agentscope_reme.steps.forget_workings import Workings
from agentscope_reme.store.stop_words import QUERY_NOISE
from agentscope_reme.workspace import layer_of

_FEWEST_TURNS: Final = 2
_SHARE_OF_TURNS: Final = 4
_ATTACHMENTS: Final = ("session/images/", "tool_result/")
_NAMES: Final = ("name", "description", "memory_tags", "tags")


class Closure:
    """Follows what goes along the chain until nothing more goes.

    Args:
        workings: with the seeds marked.
    """

    def __init__(self, workings: Workings) -> None:
        self._w = workings

    def follow(self, *, upwards: bool = True, downwards: bool = True) -> None:
        """Mark everything that rests only on what is marked.

        Args:
            upwards: also mark the turns that cards were made from.
            downwards: also mark what was made from it.
        """
        if upwards:
            self._parts_of_named()
            self._turns_of_cards()
        while self._copies() | (downwards and self._one_round()):
            pass

    def _copies(self) -> bool:
        return self._same_turns() | self._attachments()

    def _one_round(self) -> bool:
        gone = self._w.gone_paths
        news = [
            self._cards_of_turns(),
            self._sources_of_cards(),
            *(self._rests(document, gone) for document in self._w.documents.values()),
        ]
        return any(news)

    # From a card to what it was made from.

    def _turns_of_cards(self) -> None:
        for document in list(self._w.documents.values()):
            if document.is_card and (document.gone or document.cut):
                for talk, lines in self._ranges_of(document):
                    self._turns_of_card(document, talk, lines)

    def _turns_of_card(self, card: Document, talk: Conversation, lines: list[LogLine]) -> None:
        if card.gone:
            talk.gone |= {line.number for line in lines}
            return
        cut = [s.text for s in card.statements if card.is_cut(s)]
        words = plain_words(cut) - plain_words(s.text for s in card.spoken)
        for word in words:
            found = {line.number for line in lines if word in words_of(line.text)}
            if 0 < len(found) <= max(_FEWEST_TURNS, len(lines) // _SHARE_OF_TURNS):
                talk.gone |= found

    def _ranges_of(self, card: Document) -> Iterator[tuple[Conversation, list[LogLine]]]:
        """The turns a card was made from, by the cursors of its session."""
        session = card.front.get("session_id")
        talk = self._w.talks.log_of(str(session)) if session not in (None, "") else None
        if talk is None:
            return
        for cursor, lines in talk.ranges():
            if lines and self._card_at(cursor.card, str(session)) is card:
                yield talk, lines

    def _card_at(self, path: str | None, session: str) -> Document | None:
        """The card a cursor names, also when it was renamed since."""
        if path is None:
            return None
        if path in self._w.documents:
            return self._w.documents[path]
        folder = path.rpartition("/")[0]
        heirs = [
            one
            for one in self._w.documents.values()
            if one.is_card
            and one.path.startswith(f"{folder}/")
            and str(one.front.get("session_id")) == session
        ]
        return heirs[0] if len(heirs) == 1 else None

    def _sources_of_cards(self) -> bool:
        """The resource of a card that goes: it would be read again, and the card made again."""
        news = False
        for card in [d for d in self._w.documents.values() if d.is_card and d.gone]:
            for path in card.evidence:
                if layer_of(path) == "resource" and not self._has_other_reader(path):
                    news |= self._forget_file(path, f"{card.path} was made from it")
        return news

    def _has_other_reader(self, path: str) -> bool:
        return any(
            d.is_card and not d.gone and path in d.evidence for d in self._w.documents.values()
        )

    # From turns to their copies and cards.

    def _same_turns(self) -> bool:
        news = False
        waiting = [one for one in self._w.talks.loaded if one.layer == SUMMARY]
        for talk in self._w.talks.touched:
            ids = talk.gone_ids
            wholes = ids | {whole_id(one) for one in ids} if talk.layer == "turn" else ids
            for other in [*self._w.talks.of(talk.session_id), *waiting]:
                news |= other.forget_ids(ids if other.layer == "turn" else wholes)
        return news

    def _parts_of_named(self) -> None:
        """Turns that were logged in parts, of messages named where they are kept in full."""
        for talk in [one for one in self._w.talks.touched if one.layer != "turn"]:
            log = self._w.talks.log_of(talk.session_id)
            if log is not None:
                ids = talk.gone_ids
                log.forget_ids({line.id for line in log.messages if whole_id(line.id) in ids})

    def _attachments(self) -> bool:
        going = {
            path
            for talk in self._w.talks.touched
            for line in talk.lines
            if line.number in talk.gone
            for path in line.attachments
            if path.startswith(_ATTACHMENTS)
        } - self._w.gone_files.keys()
        staying = {
            path
            for talk in (self._w.talks.loaded if going else ())
            for line in talk.lines
            if line.number not in talk.gone
            for path in line.attachments
        }
        news = False
        for path in going - staying:
            news |= self._forget_file(path, "it belongs to a turn that goes")
        return news

    def _cards_of_turns(self) -> bool:
        news = False
        for talk in [t for t in self._w.talks.touched if t.layer == "turn"]:
            by_card: dict[str, list[LogLine]] = {}
            for cursor, lines in talk.ranges():
                card = self._card_at(cursor.card, talk.session_id)
                if card is not None and lines:
                    by_card.setdefault(card.path, []).extend(lines)
            for path, lines in by_card.items():
                news |= self._card_of_turns(self._w.documents[path], talk, lines)
        return news

    def _card_of_turns(self, card: Document, talk: Conversation, lines: list[LogLine]) -> bool:
        gone = [line for line in lines if line.number in talk.gone]
        if not gone or card.gone or not self._w.may_change(card):
            return False
        if len(gone) == len(lines):
            card.gone = True
            card.why[0] = "every turn it was made from goes"
            return True
        left = plain_words(line.text for line in lines if line.number not in talk.gone)
        return self._cut_words(card, plain_words(line.text for line in gone) - left)

    # From evidence to what rests on it.

    def _rests(self, document: Document, gone: set[str]) -> bool:
        if document.gone or not document.evidence or not self._w.may_change(document):
            return False
        if document.evidence <= gone and not document.is_remembered:
            document.gone = True
            document.why[0] = "it rests on nothing else"
            return True
        return self._statements(document, gone) | self._partly(document, gone)

    def _statements(self, document: Document, gone: set[str]) -> bool:
        news = False
        for statement in document.spoken:
            cited = document.cited_in(statement)
            if cited and cited <= gone:
                news |= document.cut_out(statement, "it rests on nothing else")
        return news | self._hollowed(document)

    def _partly(self, document: Document, gone: set[str]) -> bool:
        """Statements of a node whose every source loses something: what only the lost part said."""
        if document.is_card:
            return False
        lost, left = set[str](), set[str]()
        for path in document.evidence - gone:
            halves = self._halves(path)
            if halves is None:
                return False
            lost |= halves[0]
            left |= halves[1]
        return self._cut_words(document, lost - left)

    def _halves(self, path: str) -> tuple[set[str], set[str]] | None:
        """The words a source loses and those it keeps; ``None`` when it loses nothing."""
        document = self._w.documents.get(path)
        if document is not None and document.cut:
            lost = plain_words(s.text for s in document.statements if document.is_cut(s))
            return lost, plain_words(s.text for s in document.spoken)
        talk = self._w.talks.at(path) if self._w.talks.is_conversation(path) else None
        if talk is not None and talk.gone:
            texts = {True: list[str](), False: list[str]()}
            for line in talk.lines:
                texts[line.number in talk.gone].append(line.text)
            return plain_words(texts[True]), plain_words(texts[False])
        return None

    def _cut_words(self, document: Document, words: set[str]) -> bool:
        """Cut the statements that say one of these words, and the names that do."""
        if not words:
            return False
        news = False
        for statement in document.statements:
            if not is_sources(statement) and not words.isdisjoint(words_of(statement.text)):
                news |= document.cut_out(statement, "what it says goes")
        for key, value in document.said_in_names().items():
            said = key in _NAMES and not words.isdisjoint(words_of(value))
            if said and key not in document.dropped:
                document.dropped.add(key)
                news = True
        return news | self._hollowed(document)

    def _hollowed(self, document: Document) -> bool:
        """Let a file go of which nothing is left but headings and sources."""
        if not document.is_hollow or document.gone:
            return False
        document.gone = True
        document.why[0] = "nothing is left of it"
        return True

    def _forget_file(self, path: str, why: str) -> bool:
        if path in self._w.binaries and path not in self._w.gone_files:
            self._w.gone_files[path] = why
            return True
        document = self._w.documents.get(path)
        if document is None or document.gone or not self._w.may_change(document):
            return False
        document.gone = True
        document.why[0] = why
        return True


def plain_words(texts: Iterable[str]) -> set[str]:
    """The words of texts that mean something."""
    found: set[str] = set()
    for text in texts:
        found |= words_of(text)
    return found - QUERY_NOISE
