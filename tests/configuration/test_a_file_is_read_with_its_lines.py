"""``reme.yaml``: ``extends``, ``${VAR}``, texts that stay what they are, faults with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme.configuration import Configuration, load
from agentscope_reme.errors import BadInput


def loaded(folder: Path, text: str, name: str = "reme.yaml", **environ: str) -> Configuration:
    (folder / name).write_text(text, encoding="utf-8")
    return load({"config": name}, environ=environ, folder=folder)


def test_a_file_lies_where_the_command_is_run_or_is_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/mine.yaml").write_text("user: ann\n", encoding="utf-8")
    (tmp_path / "reme.yaml").write_text("user: bob\n", encoding="utf-8")
    assert load(environ={}, folder=tmp_path).user == "bob"
    assert load({"config": "sub/mine.yaml"}, environ={}, folder=tmp_path).user == "ann"
    assert load({"config": str(tmp_path / "sub/mine.yaml")}, environ={}).user == "ann"
    assert load({"config": "default"}, environ={}, folder=tmp_path).user is None


def test_a_built_in_holds_where_there_is_no_file(tmp_path: Path) -> None:
    found = load(environ={}, folder=tmp_path, built_in="cli")
    assert (found.chat.context_window_tokens, found.chat.keep_recent_tokens) == (100_000, 10_000)
    assert found.llm.model_name == "qwen3.5-plus"
    (tmp_path / "reme.yaml").write_text("user: bob\n", encoding="utf-8")
    assert load(environ={}, folder=tmp_path, built_in="cli").llm.model_name == ""


def test_files_extend_others_and_say_more(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/base.yaml").write_text(
        "extends: ../deep.yaml\nuser: base\nllm: {model_name: m}\n", encoding="utf-8"
    )
    (tmp_path / "deep.yaml").write_text("llm: {backend: ollama}\nlanguage: zh\n", encoding="utf-8")
    (tmp_path / "other.yaml").write_text("language: en\n", encoding="utf-8")
    found = loaded(tmp_path, "extends: [a/base.yaml, other.yaml]\nuser: mine\n")
    assert (found.user, found.language, found.llm.model_name) == ("mine", "en", "m")
    assert found.llm.backend == "ollama"
    assert found.origin("llm.backend") == "deep.yaml:1"


def test_lists_are_replaced_and_mappings_merged(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(
        "service: {jobs: [search, read]}\nllm: {parameters: {a: 1, b: 2}}\n", encoding="utf-8"
    )
    found = loaded(
        tmp_path, "extends: base.yaml\nservice: {jobs: [list]}\nllm: {parameters: {b: 3}}\n"
    )
    assert found.service.jobs == ["list"]
    assert found.llm.parameters == {"a": 1, "b": 3}


def test_texts_stay_what_they_are(tmp_path: Path) -> None:
    """YAML 1.1 makes 270 of 04:30, false of no, a date of 2026-01-01 and 8 of 010."""
    found = loaded(
        tmp_path,
        "user: no\ntimezone: Europe/Berlin\nsettings:\n  retention_at: 04:30\n  watch: off\n"
        "llm:\n  model_name: 2026-01-01\n  api_key: 010\n"
        "  parameters: {n: 5, quoted: '5', f: 0.5, yes_: true, none_: null, word: no,\n"
        "    list_: [1, 'a']}\n",
    )
    assert (found.user, found.settings.retention_at, found.settings.watch) == ("no", "04:30", False)
    assert (found.llm.model_name, found.llm.key) == ("2026-01-01", "010")
    assert found.llm.parameters == {
        "n": 5,
        "quoted": "5",
        "f": 0.5,
        "yes_": True,
        "none_": None,
        "word": "no",
        "list_": [1, "a"],
    }


def test_variables_are_put_in(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        "user: ${NAME}\nworkspace_dir: ${HOME_OF}/${NAME:-x}/$$HOME/$5\n"
        "timezone: ${ZONE:-Europe/Berlin}\nlanguage: ${EMPTY:-zh}\n"
        "llm:\n  parameters:\n    temperature: '${T:-0.5}'\n    top_p: ${P:-0.5}\n",
        NAME="ann",
        HOME_OF="/srv",
        EMPTY="",
    )
    assert (found.user, found.workspace_dir) == ("ann", "/srv/ann/$HOME/$5")
    assert (found.timezone, found.language) == ("Europe/Berlin", "zh")
    assert found.llm.parameters == {"temperature": "0.5", "top_p": 0.5}
    assert found.origin("user") == "reme.yaml:1 (environment variable NAME)"


def test_what_a_variable_holds_is_not_looked_into(tmp_path: Path) -> None:
    found = loaded(tmp_path, "user: ${NAME}\n", NAME="${OTHER}", REME_LLM_API_KEY="${X}$$")
    assert (found.user, found.llm.key) == ("${OTHER}", "${X}$$")
    assert load({"user": "${NAME}"}, environ={}, folder=tmp_path / "x").user == "${NAME}"


def test_a_value_that_is_overridden_needs_no_variable(tmp_path: Path) -> None:
    (tmp_path / "reme.yaml").write_text("llm: {api_key: '${MISSING}'}\n", encoding="utf-8")
    found = load(environ={"REME_LLM_API_KEY": "k"}, folder=tmp_path)
    assert found.llm.key == "k"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("user: ann\nllm:\n  modelname: x\n", "llm.modelname.*reme.yaml:3.*llm.model_name"),
        ("llm:\n  model_name: x\n  model_name: y\n", "llm.model_name.*reme.yaml:2 and reme.yaml:3"),
        ("settings:\n  chunk_byte_size: 5\n", "settings.chunk_byte_size.*100.*reme.yaml:2"),
        ("service:\n\n  port: many\n", "service.port.*reme.yaml:3"),
        ("user: ${NAME}\n", r"\$\{NAME\}.*not set \(reme.yaml:1\).*Set NAME"),
        ("user: a ${NAME\n", "broken reference .reme.yaml:1"),
        ("user: [a\n", "reme.yaml:2.*no YAML.*Correct the line"),
        ("llm: {api_key: ${X}}\n", r"reme.yaml:1.*no YAML.*into quotes: '\$\{NAME\}'"),
        ("user: x\nllm: {parameters: {a: [\n  ${X}]}}\n", "reme.yaml:3.*no YAML.*into quotes"),
        ("a: 1\n---\nb: 2\n", "reme.yaml.*no YAML"),
        ("user: a\tb: c: d\n", "no YAML"),
        ("user: \x07\n", "no YAML"),
        ("- a\n- b\n", "reme.yaml:1.*no mapping"),
        ("text\n", "no mapping"),
        ("user: !!python/object/apply:os.system ['true']\n", "reme.yaml:1.*kind"),
        ("user: !secret x\n", "reme.yaml:1.*kind"),
        ("service: {jobs: [!secret x]}\n", "kind"),
        ("base: &b {user: a}\n<<: *b\n", "not a name|no such key"),
        ("? [a, b]\n: c\n", "not a name"),
        ("extends: {a: b}\n", "extends"),
        ("extends: [1, [2]]\n", "names no file"),
        ("extends: nowhere.yaml\n", "nowhere.yaml.*no configuration"),
        ("extends: reme.yaml\n", "extends itself: reme.yaml -> reme.yaml"),
        ("llm: text\n", "a section, not a value .reme.yaml:1"),
        ("user: {a: b}\n", "user.a.*no such key.*reme.yaml:1"),
        ("components: {agent_wrapper: {default: {max: 1}}}\n", "no such key.*reme.yaml:1"),
        (
            "settings: {max_image_num: 1}\n"
            "components: {agent_wrapper: {default: {context_config: {max_image_num: 2}}}}\n",
            "given under two names .reme.yaml:1, reme.yaml:2",
        ),
    ],
)
def test_a_fault_is_told_with_file_and_line(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"(?s){told}"):
        loaded(tmp_path, text)


def test_the_long_name_of_a_setting_is_understood(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        "components:\n  agent_wrapper:\n    default:\n      context_config:\n"
        "        max_image_num: 3\n",
    )
    assert found.settings.max_image_num == 3
    assert found.origin("settings.max_image_num") == "reme.yaml:5"


def test_a_circle_of_files_is_named(tmp_path: Path) -> None:
    for name, base in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.yaml").write_text(f"extends: {base}.yaml\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"a.yaml -> b.yaml -> c.yaml -> a.yaml"):
        load({"config": "a.yaml"}, environ={}, folder=tmp_path)


def test_aliases_in_aliases_end(tmp_path: Path) -> None:
    rows = ["llm: {parameters: *j}"]
    bomb = "a: &a {x: 1, y: 2}\n" + "".join(
        f"{one}: &{one} {{l: *{before}, m: *{before}, n: *{before}, o: *{before}}}\n"
        for before, one in zip("abcdefghi", "bcdefghij", strict=True)
    )
    with pytest.raises(BadInput, match="more values than any configuration"):
        loaded(tmp_path, bomb + "\n".join(rows))
    with pytest.raises(BadInput, match=r"more values|too deep"):
        loaded(tmp_path, "llm: {parameters: &p {again: *p}}\n")
    with pytest.raises(BadInput, match="too deep"):
        loaded(tmp_path, "user: " + "[" * 50_000)


def test_the_encoding_is_utf8_with_or_without_a_mark(tmp_path: Path) -> None:
    (tmp_path / "reme.yaml").write_bytes("\ufeffuser: Jürgen\n".encode())
    assert load(environ={}, folder=tmp_path).user == "Jürgen"
    for data in (b"user: J\xfcrgen\n", "user: ann\n".encode("utf-16")):
        (tmp_path / "reme.yaml").write_bytes(data)
        with pytest.raises(BadInput, match=r"reme.yaml.*UTF-8"):
            load(environ={}, folder=tmp_path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "reme.yaml").mkdir()
    with pytest.raises(BadInput, match="no configuration to be read"):
        load(environ={}, folder=tmp_path)
    with pytest.raises(BadInput, match="no configuration to be read"):
        load({"config": "a\0b"}, environ={}, folder=tmp_path)


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    for text in ("# nothing\n", "", "llm:\nsettings: {}\nuser:\n"):
        assert loaded(tmp_path, text).model_dump() == Configuration().model_dump()
