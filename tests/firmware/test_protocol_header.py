"""One definition serves C and Python: protocol.h is what messages.py says."""

from __future__ import annotations

import pytest

from harness import paths
from harness.link import header, messages


def test_header_is_up_to_date() -> None:
    written = (paths.project() / "firmware" / "lib" / "link" / "protocol.h").read_text(encoding="utf8")
    assert written == header.text(), "run: python -m harness.link.header"


def test_a_changed_definition_changes_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    before = header.text()
    monkeypatch.setattr(messages, "FLAG", 0x55)
    assert header.text() != before


def test_every_kind_and_error_is_in_the_header() -> None:
    text = header.text()
    for kind in messages.Kind:
        assert f"LINK_KIND_{kind.name} = {int(kind):#04x}," in text
    for code in messages.ErrorCode:
        assert f"LINK_ERROR_{code.name} = {int(code):#04x}," in text


def test_every_reply_fits_the_kept_one() -> None:
    assert messages.HELLO_REPLY.struct.size <= messages.MAX_REPLY
    scores = messages.SCORES_REPLY.struct.size + 4 * messages.SCORES_PER_REPLY
    assert scores <= messages.MAX_REPLY
