"""Estimated tokens stay near a real vocabulary's counts, and images have one price.

The counts were taken with the byte-pair vocabulary that DashScope publishes for Qwen, with the
pre-tokenizer that goes with it. The last ten texts were added after the constants were fitted;
three of them, a Chinese letter, Korean minutes and a picture, changed one.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentscope_reme.context import IMAGE_TOKENS, estimate_message_tokens, estimate_tokens
from agentscope_reme.context.tokens import LONGEST_COUNTED
from agentscope_reme.messages import DataBlock, Message, TextBlock, ToolCallBlock, ToolResultBlock

RECORDED: dict[str, tuple[int, str]] = {
    "english prose": (
        52,
        "We agreed on Thursday to move the login service to short-lived tokens,"
        " because the old session cookies could not be revoked when a laptop wa"
        "s lost. Maria will write the migration, and I promised to test it with"
        " the mobile team before the end of the month.",
    ),
    "english chat": (
        40,
        "hey, did you get a chance to look at it? no worries if not :) I'm arou"
        "nd until 6 and then I've got to pick up the kids, so tomorrow's fine t"
        "oo!",
    ),
    "python code": (
        94,
        "def retrieve(self, query: str, limit: int = 10) -> list[tuple[str, flo"
        "at]]:\n    terms = self._tokenize(query)\n    scores = np.zeros(len(self"
        "._ids), dtype=np.float32)\n    for term in terms:\n        scores[self._"
        "postings[term].ids] += self._weight(term)\n    return [(self._ids[i], f"
        "loat(scores[i])) for i in np.argsort(-scores)[:limit]]\n",
    ),
    "a json line": (
        116,
        '{"id": "msg-0042", "role": "assistant", "created_at": "2026-06-20T14:0'
        '3:11+02:00", "blocks": [{"type": "tool_call", "name": "read", "input":'
        ' {"path": "daily/2026-06-20/login.md", "start_line": 12}}], "usage": {'
        '"input_tokens": 1834, "output_tokens": 97}}',
    ),
    "a log": (
        112,
        "2026-06-20 14:03:11,482 ERROR worker.py:118 request 7f3a91bc failed af"
        "ter 3 retries: ConnectionResetError(104, 'Connection reset by peer')\n2"
        "026-06-20 14:03:12,007 INFO worker.py:74 retrying in 8.0 s (attempt 4 "
        "of 5), queue length 1729\n",
    ),
    "markdown with a table": (
        78,
        "## Decisions\n\n- **Database**: SQLite in WAL mode, one file per workspa"
        "ce.\n- **Search**: BM25 first, vectors later; see [[digest/wiki/search."
        "md#fusion]].\n\n| option | cost | risk |\n|---|---:|---|\n| A | 12.50 | lo"
        "w |\n| B | 8.00 | high |\n",
    ),
    "chinese notes": (
        47,
        "用户希望把登录服务改成短期令牌，因为旧的会话在笔记本电脑丢失以后无法撤销"
        "。我们决定下周先在测试环境上线，由小王负责迁移脚本，月底之前完成移动端的"
        "回归测试。",
    ),
    "chinese minutes": (
        50,
        "今天下午三点开会讨论了第二季度的预算，市场部申请增加百分之十五，财务部没"
        "有同意。最后大家一致认为应该先看一下六月份的销售数据，再做决定。会议纪要"
        "已经放在共享文件夹里。",
    ),
    "chinese with identifiers": (
        38,
        "把 settings.yaml 里的 chunk_byte_size 改"
        "成 800，然后重新运行 pytest tests/store，如果 B"
        "M25 的分数没有变化就提交到 main 分支。",
    ),
    "japanese": (
        43,
        "昨日の会議で、新しい認証サービスを来月から使うことに決まりました。田中さ"
        "んが移行スクリプトを書き、私はモバイルチームと一緒にテストを行います。",
    ),
    "korean": (
        50,
        "어제 회의에서 다음 달부터 새로운 인증 서비스를 사용하기로 결정했"
        "습니다. 김 대리가 이전 스크립트를 작성하고 저는 모바일 팀과 함"
        "께 테스트를 진행합니다.",
    ),
    "german": (
        63,
        "Wir haben uns darauf geeinigt, den A"
        "nmeldedienst im nächsten Monat umzus"
        "tellen, weil verlorene Geräte bisher"
        " nicht zuverlässig gesperrt werden k"
        "onnten. Die Datenschutzbeauftragte m"
        "öchte vorher die Verschlüsselung prü"
        "fen.",
    ),
    "french": (
        44,
        "Nous avons décidé de remplacer l'anc"
        "ien service d'authentification le mo"
        "is prochain, parce qu'il n'était pas"
        " possible de révoquer une session ap"
        "rès la perte d'un ordinateur.",
    ),
    "russian": (
        47,
        "Мы решили заменить старый сервис авт"
        "оризации в следующем месяце, потому "
        "что после потери ноутбука отозвать с"
        "ессию было невозможно. Мария напишет"
        " миграцию.",
    ),
    "hashes": (
        117,
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 e3b0c"
        "44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ),
    "a path": (
        20,
        "/usr/local/lib/python3.11/site-packages/agentscope_reme/store/keyword_index.py",
    ),
    "numbers": (47, "1234567 89012 3.14159 42 1000000 2026 17.5 0.25"),
    "a list of steps": (
        44,
        "1. Stop the watcher, then copy the workspace to the backup drive.\n2. R"
        "un the migration with --dry-run and read its report.\n3. If every file "
        "is listed, run it again without the flag.\n",
    ),
    "a shell session": (
        64,
        "$ git log --oneline -3\n724a276 Seams: changes, file views, store contr"
        "act\n1d136a7 Foundation: errors, clock, settings\n$ pytest tests/store -"
        "q\n41 passed, 2 warnings in 3.72s\n",
    ),
    "a letter": (
        35,
        "Dear Anna, thank you for the photographs of the garden. The roses are "
        "lovely, and I could hardly believe how tall the apple tree has grown s"
        "ince we planted it together.",
    ),
    "a chinese letter": (
        34,
        "您好，附件是上周讨论过的合同草案。第三条关于付款期限的内容已经按照您的意"
        "见修改，请在周五之前确认，如果还有问题可以直接打电话给我。",
    ),
    "chinese about search": (
        35,
        "搜索先按关键词打分，再用向量结果补充。两个分支各自保留最好的几条，所以只"
        "出现一次的专有名词也一定能被找到。",
    ),
    "a japanese note": (
        32,
        "来週の木曜日までに見積書を送ってください。予算は百万円以内で、納期は八月"
        "末を希望しています。",
    ),
    "an sql query": (
        41,
        "SELECT path, COUNT(*) AS links FROM links WHERE target_path = 'daily/2"
        "026-06-20/login.md' GROUP BY path ORDER BY links DESC LIMIT 10;",
    ),
    "spanish": (
        40,
        "Quedamos en que el nuevo sistema de "
        "acceso empezará a funcionar en septi"
        "embre, cuando todos los equipos haya"
        "n terminado sus pruebas y la documen"
        "tación esté traducida.",
    ),
    "korean minutes": (
        48,
        "회의에서 결정된 내용을 정리하면 다음과 같습니다. 첫째, 서버 이"
        "전은 10월까지 끝낸다. 둘째, 비용은 기존 예산 안에서 처리한다"
        ".",
    ),
    "a base64 picture": (
        55,
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
        "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    ),
}


@pytest.mark.parametrize("kind", RECORDED)
def test_an_estimate_is_within_a_quarter_of_the_recorded_count(kind: str) -> None:
    count, text = RECORDED[kind]
    assert 0.75 * count <= estimate_tokens(text) <= 1.25 * count


def test_nothing_costs_nothing() -> None:
    assert estimate_tokens("") == 0


@given(st.text(), st.text())
def test_a_longer_text_never_costs_much_less(head: str, tail: str) -> None:
    together = estimate_tokens(head + tail)
    assert 0 <= together <= estimate_tokens(head) + estimate_tokens(tail) + 2


@given(st.text(min_size=1))
def test_no_text_costs_more_than_its_characters(text: str) -> None:
    assert estimate_tokens(text) <= len(text)


@pytest.mark.parametrize("run", ["a", " ", "\n ", "!", "中", "9", "\u0900"])
def test_a_megabyte_of_anything_is_estimated_in_linear_time(run: str) -> None:
    begin = time.process_time()
    estimate_tokens(run * 1_000_000)
    assert time.process_time() - begin < 2


def _image(data: str) -> Message:
    return Message(role="user", name="user", blocks=(DataBlock(media_type="image/png", data=data),))


def test_an_image_costs_the_same_whatever_its_size() -> None:
    small, large = _image("aGk="), _image("QUJD" * 500_000)
    assert estimate_message_tokens(small) == estimate_message_tokens(large)
    assert estimate_message_tokens(small) >= IMAGE_TOKENS


def test_an_image_inside_a_tool_result_counts_as_an_image() -> None:
    shot = DataBlock(media_type="image/png", data="QUJD" * 500_000)
    result = ToolResultBlock(id="1", name="screen", output=(TextBlock(text="ok"), shot))
    message = Message(role="system", name="system", blocks=(result,))
    assert IMAGE_TOKENS < estimate_message_tokens(message) < IMAGE_TOKENS + 50


def test_tool_calls_and_their_answers_count() -> None:
    words = "one two three four five six seven eight nine ten " * 10
    call = ToolCallBlock(id="1", name="read", input=words)
    result = ToolResultBlock(id="1", name="read", output=(TextBlock(text=words),))
    for block in (call, result):
        message = Message(role="assistant", name="agent", blocks=(block,))
        assert estimate_message_tokens(message) > 100


def test_a_very_long_text_is_judged_by_samples_from_all_over_it() -> None:
    texts = [
        "green tea at 75 degrees, then a walk\n" * 400,
        "绿茶要用七十五度的水。" * 800,
        "7f3a" * 2000,
    ]
    long = "".join(text * 20 for text in texts)
    assert len(long) > LONGEST_COUNTED
    counted = sum(estimate_tokens(text) * 20 for text in texts)
    assert estimate_tokens(long) == pytest.approx(counted, rel=0.05)
