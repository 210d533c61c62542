"""The tables of a page that a run writes, between two markers; the rest of the page stays."""
import datetime
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def markers(mark):
    return f"<!-- figures:{mark} -->", f"<!-- end of figures:{mark} -->"


def commit():
    words = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() or "unknown"


def times_of(book, mishap):
    times = book.recoveries.get(mishap.name, [])
    return f"`{mishap.name}` {len(times)} ×, {max(times):.1f} s" if times else f"`{mishap.name}` not reached"


def table(book, command, what, daemon, promises):
    """Lines. `what`: what there was, in words; `daemon`: its version; `promises`: rows of promise, how it is tested, and figures."""
    began = sum(len(times) for times in book.recoveries.values())
    yield f"`tests/chaos/run {command}`, {datetime.date.today()}, " \
          f"commit {commit()}, daemon {daemon}, {what}, {os.cpu_count()} processors with a load of {os.getloadavg()[2]:.0f} " \
          f"(15 minutes, all that ran beside it included): {began} mishaps, **{len(book.failures)} failures**."
    yield ""
    yield "| promise | how it is tested | figures |"
    yield "|---|---|---|"
    for row in promises:
        yield f"| {' | '.join(row)} |"


def check(page, mark):
    """Before a long run."""
    text = pathlib.Path(page).read_text()
    if missing := [marker for marker in markers(mark) if marker not in text]:
        raise SystemExit(f"chaos: {page} has no place for figures: {', '.join(missing)}")


def write(page, mark, lines):
    page, (begin, end) = pathlib.Path(page), markers(mark)
    text = page.read_text()
    page.write_text(text.split(begin)[0] + begin + "\n" + "\n".join(lines) + "\n" + end + text.split(end)[1])
