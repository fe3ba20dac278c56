"""What the terminal says by itself, in English and Chinese."""

from __future__ import annotations

from typing import Final

_WORDS: Final[dict[str, tuple[str, str]]] = {
    "welcome": ("ReMe. /help lists the commands.", "ReMe。/help 查看命令。"),
    "resumed": (
        "Going on with the conversation of {when} ({count} messages). /new begins another.",
        "继续 {when} 的对话（{count} 条消息）。/new 开始新的对话。",
    ),
    "loading": ("Loading …", "正在加载 …"),
    "running": ("Running …", "正在运行 …"),
    "thinking": ("Thinking …", "思考中 …"),
    "stopped": ("Stopped. What was said is kept.", "已停止，已说的内容保留。"),
    "leave_hint": ("Ctrl-D or /exit leaves.", "按 Ctrl-D 或输入 /exit 退出。"),
    "unknown": ("There is no command {name}.", "没有命令 {name}。"),
    "near": ("Did you mean {names}?", "是不是 {names}？"),
    "see_help": ("/help lists them all.", "/help 列出全部命令。"),
    "compacting": ("Compacting …", "正在压缩 …"),
    "compacted": (
        "{left} messages became a summary, {kept} stay as they are.",
        "{left} 条消息变为摘要，保留 {kept} 条。",
    ),
    "auto_compacted": (
        "The conversation was long: {left} messages became a summary, {kept} stay as they are.",
        "对话较长：{left} 条消息变为摘要，保留 {kept} 条。",
    ),
    "nothing_to_compact": (
        "Nothing to summarise yet: the last request stays as it is.",
        "暂时没有可压缩的内容：最近的请求保持原样。",
    ),
    "saving": (
        "{count} messages are looked through in the background for what is worth a note.",
        "正在后台从 {count} 条消息中整理值得记下的内容。",
    ),
    "saved": ("Noted what was said before: {paths}.", "已把之前的对话记入 {paths}。"),
    "nothing_noted": (
        "Of what was said before, nothing was worth a note.",
        "之前的对话中没有值得记下的内容。",
    ),
    "nothing_to_save": ("Nothing new to save.", "没有新的内容需要保存。"),
    "anew": ("A new conversation.", "新的对话。"),
    "cleared": (
        "Cleared. Nothing of this conversation is left; notes saved before stay.",
        "已清除。此对话没有留下任何内容；之前存下的笔记仍在。",
    ),
    "nothing_said": ("Nothing was said yet.", "还没有说过话。"),
    "history": (
        "{count} messages, about {tokens} of {most} tokens ({share:.0%}).",
        "{count} 条消息，约 {tokens} / {most} 个 token（{share:.0%}）。",
    ),
    "summary_of_before": ("Summary of before: {text}", "之前的摘要：{text}"),
    "finishing": (
        "Saving {left} conversation(s) … Ctrl-C leaves; it goes on at the next start.",
        "正在保存 {left} 段对话 … 按 Ctrl-C 直接退出，下次启动时继续。",
    ),
    "left_for_later": (
        "{left} conversation(s) will be saved at the next start.",
        "{left} 段对话将在下次启动时保存。",
    ),
    "not_saved": ("Saving failed: {why}", "保存失败：{why}"),
    "bye": ("Goodbye.", "再见。"),
    "allow": (
        "[y]es, [n]o, [a]lways in this session › ",
        "[y] 允许，[n] 不允许，[a] 本次一直允许 › ",
    ),
    "no_model": (
        "There is no model. Set REME_LLM_API_KEY (and REME_LLM_BASE_URL, REME_LLM_MODEL_NAME), in "
        "the environment or in ./.env.",
        "没有模型。请在环境变量或 ./.env 中设置 REME_LLM_API_KEY（以及 REME_LLM_BASE_URL、"
        "REME_LLM_MODEL_NAME）。",
    ),
    "silent": (
        "The model said nothing. Ask again, or in other words.",
        "模型没有回答。请再问一次，或换个说法。",
    ),
    "help_compact": (
        "summarise older messages, keep recent ones, save what was said",
        "把较早的消息压缩成摘要，保留最近的，并存入记忆",
    ),
    "help_new": ("save what was said and begin a new conversation", "保存对话并开始新的对话"),
    "help_clear": (
        "begin a new conversation and leave nothing of this one on the disk",
        "开始新的对话，不在磁盘上留下此对话的任何内容",
    ),
    "help_history": ("show the messages the model sees", "查看模型看到的消息"),
    "help_help": ("show this list", "显示此列表"),
    "help_exit": ("finish saving and leave", "完成保存后退出"),
    "help_horse": ("fireworks, a horse and a blessing", "烟花、奔马和祝福"),
    "help_keys": (
        "Alt-Enter begins a new line, Ctrl-C stops a reply, Ctrl-D leaves.",
        "Alt-Enter 换行，Ctrl-C 停止回答，Ctrl-D 退出。",
    ),
    "more_lines": ("… {count} more lines", "… 还有 {count} 行"),
}


def say(name: str, language: str, /, **values: object) -> str:
    """One of these texts.

    Args:
        name: which one.
        language: ``zh`` for Chinese; English otherwise.
        values: what is put into it.
    """
    return _WORDS[name][language == "zh"].format(**values)
