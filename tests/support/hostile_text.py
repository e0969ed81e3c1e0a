"""Texts that would control a terminal, and a check that none of them does."""

MARKUP = "[red]"
# Colour, window title, a one-character CSI, carriage return, delete, and two bidirectional marks.
CONTROLS = "\x1b[31m\x1b]0;owned\x07\x9b2J\r\x7f\u202e\u2066\x08\n\t"
HOSTILE = f"{CONTROLS}[/]{MARKUP}"


def check_inert(printed: str, *, csv: bool = False) -> None:
    """Fail if a control character other than a newline was printed, or markup was interpreted."""
    text = printed.replace("\r\n", "\n") if csv else printed
    raw = sorted(
        {repr(character) for character in text if character != "\n" and not character.isprintable()}
    )
    assert raw == [], printed
    # Every hostile text that was printed is complete.
    assert "owned" in text, printed
    flat = "".join(line.strip() for line in text.splitlines())
    assert flat.count("owned") == flat.count(MARKUP), printed
