"""Writes firmware/lib/link/protocol.h from messages.py: `python -m harness.link.header`."""

from __future__ import annotations

import inspect
from enum import IntEnum

from harness import paths
from harness.link import messages

CONSTANTS = (
    "PROTOCOL_VERSION",
    "FLAG",
    "ESCAPE",
    "ESCAPE_XOR",
    "CRC_START",
    "HASH_BYTES",
    "NAME_BYTES",
    "MAX_REPLY",
    "SCORES_PER_REPLY",
)
ENUMS: tuple[tuple[type[IntEnum], str], ...] = (
    (messages.Kind, "KIND"),
    (messages.ErrorCode, "ERROR"),
    (messages.Numbers, "NUMBERS"),
    (messages.HelloFlag, "HELLO_FLAG"),
)


def text() -> str:
    """The header, whole."""
    lines = [
        "/* The link's constants and payload layouts.",
        " * Written by `python -m harness.link.header` from harness/link/messages.py, "
        "which explains them. */",
        "#ifndef LINK_PROTOCOL_H",
        "#define LINK_PROTOCOL_H",
        "",
    ]
    lines += [f"#define LINK_{name} {getattr(messages, name):#x}u" for name in CONSTANTS]
    for enum, prefix in ENUMS:
        summary = (inspect.getdoc(enum) or enum.__name__).splitlines()[0]
        lines += ["", f"/* {summary} */", "enum {"]
        lines += [f"    LINK_{prefix}_{member.name} = {int(member):#04x}," for member in enum]
        lines += ["};"]
    for layout in messages.LAYOUTS:
        name = layout.name.upper()
        lines += [
            "",
            f"/* Where the fields of {layout.name} begin, and how long they are together. */",
            "enum {",
        ]
        lines += [f"    LINK_AT_{name}_{field.upper()} = {at}," for field, at in layout.offsets().items()]
        lines += [f"    LINK_SIZE_{name} = {layout.struct.size},", "};"]
    lines += ["", "#endif", ""]
    return "\n".join(lines)


def main() -> None:
    (paths.project() / "firmware" / "lib" / "link" / "protocol.h").write_text(text(), encoding="utf8")


if __name__ == "__main__":
    main()
