"""The measurements as a bar chart, in colours that are visible on light and on dark."""

from collections.abc import Iterator
from html import escape

from bench.figures import Results, ratio, timed
from bench.plan import OURS, STREAMS
from bench.report import described
from bench.ways import WAYS

WIDTH, LINE, LEFT, BAR = 800, 22, 340, 340
TEXT, OTHERS, ACCENT = "#7d8590", "#8b949e", "#2f81f7"  # of enough contrast on white and on black
FONT = "font-family='system-ui, sans-serif' font-size='13'"


def picture(results: Results) -> str:
    """Return an SVG with the processor time of all implementations on both streams."""
    lines = ["AdminView beside other ways to write it: CPU seconds per 1,000 changes"]
    drawn: list[str] = []
    top = 2 * LINE
    for stream in STREAMS:
        drawn.append(_text(0, top, f"{stream} stream", weight="bold"))
        drawn += _bars(results, stream, top)
        top += (len(WAYS) + 2) * LINE
    lines.append(f"{results['machine']['date']}, {described(results['machine'])}")
    drawn += [_text(0, LINE, lines[0], weight="bold"), _text(0, top, lines[1])]
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 -6 {WIDTH} {top + LINE}' {FONT} "
        f"role='img' aria-label='{escape(lines[0])}'>\n" + "\n".join(drawn) + "\n</svg>\n"
    )


def _bars(results: Results, stream: str, top: int) -> Iterator[str]:
    """Yield a bar for each implementation; the longest one fills the width."""
    took = {way: timed(results, way, stream=stream) for way in WAYS}
    longest = max((seconds for seconds in took.values() if seconds), default=1)
    for place, (way, seconds) in enumerate(took.items(), start=1):
        line = top + place * LINE
        colour = ACCENT if way == OURS else OTHERS
        yield _text(0, line, WAYS[way], colour=ACCENT if way == OURS else TEXT)
        if seconds is None:
            continue
        length = max(1, round(BAR * seconds / longest))
        yield f"<rect x='{LEFT}' y='{line - 12}' width='{length}' height='14' fill='{colour}'/>"
        times = ratio(seconds, took[OURS])
        beside = f"{seconds:.3f} s" + (f"  x{times:.1f}" if times and way != OURS else "")
        yield _text(LEFT + length + 8, line, beside)


def _text(left: int, line: int, text: str, *, colour: str = TEXT, weight: str = "normal") -> str:
    return (
        f"<text x='{left}' y='{line}' fill='{colour}' font-weight='{weight}'>{escape(text)}</text>"
    )
