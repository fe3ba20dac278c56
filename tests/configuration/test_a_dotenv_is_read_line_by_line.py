"""``.env``: names and values as people write them; a line that is none is told, never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentscope_reme.configuration.variables import dotenv
from agentscope_reme.errors import BadInput


def test_values_are_bare_quoted_or_exported(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# a comment\n\nA=plain\nexport B = spaced out  \n"
        "C='single # \\n'\n"
        'D="double \\n \\" $X"\n'
        "E=\nF=with # comment\nG=with#none\nH=a=b=c\nI=${A}\nA=again\r\nJ='x' # behind\n"
        "K=it's\nL=# only\n",
        encoding="utf-8",
    )
    found = {name: given.value for name, given in dotenv(tmp_path / ".env").items()}
    assert found == {
        "A": "again",
        "B": "spaced out",
        "C": "single # \\n",
        "D": 'double \n " $X',
        "E": "",
        "F": "with",
        "G": "with#none",
        "H": "a=b=c",
        "I": "${A}",
        "J": "x",
        "K": "it's",
        "L": "",
    }
    assert dotenv(tmp_path / ".env")["A"].origin == ".env:12"


@pytest.mark.parametrize("line", ["no equals", "1A=x", "A-B=x", "A='open", 'A="open', "=x"])
def test_a_broken_line_is_named_but_not_repeated(line: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"A=1\n{line}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"\.env:2.*NAME=value") as refused:
        dotenv(tmp_path / ".env")
    assert line not in str(refused.value)


def test_a_file_that_is_none_says_nothing_and_bytes_are_refused(tmp_path: Path) -> None:
    assert dotenv(tmp_path / ".env") == {}
    (tmp_path / "folder").mkdir()
    assert dotenv(tmp_path / "folder") == {}
    (tmp_path / ".env").write_bytes(b"A=\xff\n")
    with pytest.raises(BadInput, match="UTF-8"):
        dotenv(tmp_path / ".env")
