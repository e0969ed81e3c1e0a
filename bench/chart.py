"""The measurements as a bar chart for light and dark pages."""

from collections.abc import Iterator
from html import escape

from bench.contenders import CONTENDERS
from bench.figures import Results, ratio, timed
from bench.plan import OURS, STREAMS
from bench.report import describe_machine

WIDTH, LINE, LEFT, BAR = 800, 22, 340, 340
TEXT, OTHERS, ACCENT = "#7d8590", "#8b949e", "#2f81f7"  # legible on white and on black
FONT = "font-family='system-ui, sans-serif' font-size='13'"


def bar_chart(results: Results) -> str:
    """Return an SVG with the processor time of all contenders on both streams."""
    title = "AdminView and other implementations: CPU seconds per 1,000 changes"
    drawn: list[str] = []
    top = 2 * LINE
    for stream in STREAMS:
        drawn.append(_text(0, top, f"{stream} stream", weight="bold"))
        drawn += _bars(results, stream, top)
        top += (len(CONTENDERS) + 2) * LINE
    machine = results["machine"]
    footer = f"{machine['date']}, {describe_machine(machine)}"
    drawn += [_text(0, LINE, title, weight="bold"), _text(0, top, footer)]
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 -6 {WIDTH} {top + LINE}' {FONT} "
        f"role='img' aria-label='{escape(title)}'>\n" + "\n".join(drawn) + "\n</svg>\n"
    )


def _bars(results: Results, stream: str, top: int) -> Iterator[str]:
    """Yield a bar for each contender; the longest one fills the width."""
    times = {contender: timed(results, contender, stream=stream) for contender in CONTENDERS}
    longest = max((seconds for seconds in times.values() if seconds), default=1)
    for position, (contender, seconds) in enumerate(times.items(), start=1):
        line = top + position * LINE
        colour = ACCENT if contender == OURS else OTHERS
        yield _text(0, line, CONTENDERS[contender], colour=ACCENT if contender == OURS else TEXT)
        if seconds is None:
            continue
        length = max(1, round(BAR * seconds / longest))
        yield f"<rect x='{LEFT}' y='{line - 12}' width='{length}' height='14' fill='{colour}'/>"
        factor = ratio(seconds, times[OURS])
        label = f"{seconds:.3f} s" + (f"  x{factor:.1f}" if factor and contender != OURS else "")
        yield _text(LEFT + length + 8, line, label)


def _text(left: int, line: int, text: str, *, colour: str = TEXT, weight: str = "normal") -> str:
    return (
        f"<text x='{left}' y='{line}' fill='{colour}' font-weight='{weight}'>{escape(text)}</text>"
    )
