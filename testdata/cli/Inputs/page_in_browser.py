"""What pages show in a browser: page_in_browser.py FOLDER, with memory.html (of page_memory.hlo), peak.html (of page_peak.hlo), empty.html,
report.html (of report.hlo) and product.html in it; screenshots of all are left beside them.  What page_memory.hlo's buffers are follows from its instructions: five
parameters, then at position 5 a transpose `a` of 512 bytes that is last read at 6, where the dot `b` of 256 bytes begins, last read at 7."""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "scripts"))
import browser
from page_checks import check, end, failures, has

FOLDER = pathlib.Path(sys.argv[1])

# In the window, the middle of the box of a value; its colour, early in its life, near its lower border.
HELPERS = """
window.middle = (name) => {
  const chart = memoryView.chart, box = chart.model.boxes.find((one) => one.value && one.value.name === name);
  const area = chart.areas().find((one) => one.number === box.track), r = chart.rectangle(area, box);
  const edge = chart.canvas.getBoundingClientRect();
  return [edge.left + r.left + r.width / 2, edge.top + r.top + r.height / 2];
};
window.colour = (name) => {
  const chart = memoryView.chart;
  const box = chart.model.boxes.find((one) => one.value && one.value.name === name);
  const r = chart.rectangle(chart.areas().find((one) => one.number === box.track), box);
  return [...chart.canvas.getContext("2d").getImageData(r.left + r.width / 4, r.top + r.height * 0.9, 1, 1).data].join();
};
window.text = (name) => memoryView.part(name).innerText;
window.rows = () => [...memoryView.part("alive").querySelectorAll("tr[data-item]")].map((row) => row.cells[2].innerText);
"""

def open_page(chromium, name, **options):
    page = chromium.open(FOLDER / name, **options)
    page.evaluate(HELPERS)
    return page


def show_memory(chromium):
    page = open_page(chromium, "memory.html")
    page.screenshot(FOLDER / "memory.light.png")
    check("title", page.evaluate("document.title"), "memory of picture")
    check("tiles", page.evaluate("text('tiles')").split("\n"), has("workspace", "768 B", "results", "320 B", "arguments", "1.38 KiB", "reached"))
    check("the curve is told", page.evaluate("memoryView.chart.model.tracks[0].note"),
          "peak 768 B at position 6, b; lower bound 768 B, reached")
    check("the curve", page.evaluate("memoryView.chart.model.tracks[0].curve"), [[5, 512], [6, 768], [7, 256], [8, 0]])
    check("at first the time of temporaries is shown", page.evaluate("[Math.round(memoryView.chart.time.from), Math.round(memoryView.chart.time.to)]"),
          [5, 8])
    check("at first the position is the peak's", page.evaluate("memoryView.chart.position"), 6)
    check("alive at the peak", page.evaluate("rows()"), ["a", "b", "p0", "p2", "p3", "p4"])

    x, y = page.evaluate("middle('a')")
    page.move(x, y)
    check("hovered", page.evaluate("text('tip')"),
          has("a\n", "f32[16,8]{1,0}", "transpose", "512\n", "5 … 6", "workspace [0, 512)", "temporary", "model</script><b>.py:7"))
    page.screenshot(FOLDER / "memory.hover.png")
    x, y = page.evaluate("middle('b')")
    page.move(x, y)
    check("hovered next", page.evaluate("text('tip')"), has("b\n", "f32[8,8]{1,0}", "dot", "6 … 7", "workspace [512, 768)"))
    page.move(5, 5)
    check("nothing hovered", page.evaluate("memoryView.part('tip').hidden"), True)

    shown = "[[{item: 1}, {left: 0, top: 0, width: 100, height: 20}], [{item: %d}, {left: 40, top: %d, width: 80, height: 20}]]"
    label = "memoryView.chart.uncovered(" + shown + ", 0).width"
    check("a label ends where a later value of its buffer begins", page.evaluate(label % (1, 0)), 40)
    check("but not where that lies above its middle, or is another buffer's", page.evaluate(f"[{label % (1, 11)}, {label % (2, 0)}]"), [100, 100])

    page.click(x, y)
    check("clicked", page.evaluate("text('details')"), has("b\n", "f32[8,8]{1,0}", "read by", "c"))
    position = page.evaluate("memoryView.chart.position")
    check("the position is where the click was", position, lambda at: at in (6, 7))
    page.key("Home")
    check("alive at 0", page.evaluate("rows()"), ["p0", "p1", "p2", "p3", "p4"])
    page.key("p")
    check("to the peak", page.evaluate("memoryView.chart.position"), 6)
    page.key("ArrowRight")
    check("alive at 7", page.evaluate("rows()"), ["b", "c", "p2", "p3", "p4"])
    check("sums by region", page.evaluate("text('alive')"), has("alive at position 7, c", "workspace: 1 buffer, 256 B", "results: 1 buffer, 256 B"))
    page.key("Escape")
    page.key("ArrowUp")
    check("up from nothing is the lowest", page.evaluate("text('details')"), has("b\n"))
    page.key("ArrowUp")
    check("then the next above", page.evaluate("text('details')"), has("c\n", "result 0"))
    end(page, "memory.html")
    return page


def zoom_and_search(page):
    shown = "[memoryView.chart.time.from, memoryView.chart.time.to]"
    page.key("0")
    check("all of the time", page.evaluate(shown), [0, 10])
    x, y = page.evaluate("middle('a')")
    page.wheel(x, y, -120)
    low, high = page.evaluate(shown)
    check("the wheel goes closer", high - low, lambda length: 5 < length < 9.9)
    check("around the pointer", (low, high), lambda ends: ends[0] < 6 < ends[1])
    page.drag(x, y, x - 150, y)
    check("dragging to the left shows later times", page.evaluate(shown)[0], lambda start: start > low + 0.5)
    page.key("-")
    page.key("-")
    page.key("-")
    check("wider than all there is is all", page.evaluate(shown), [0, 10])
    page.key("+")
    check("closer", page.evaluate(shown), lambda ends: ends[1] - ends[0] < 7)
    page.key("f")
    plain = page.evaluate("colour('a')")
    page.key("/")
    page.type("DOT")
    page.settle()
    check("search in names and opcodes", page.evaluate("text('found')"), "2 of 9 buffers")
    check("what is not found is dim", page.evaluate("colour('a')"), lambda colour: colour != plain)
    page.key("Enter")
    check("the first found is chosen", page.evaluate("text('details')"), has("b\n"))
    page.key("Enter")
    check("then the next", page.evaluate("text('details')"), has("c\n"))
    check("where it begins", page.evaluate("memoryView.chart.position"), 7)
    page.key("Enter")
    check("and around", page.evaluate("text('found')"), "1 of 2")
    page.key("Escape")
    page.key("f")
    check("nothing is dim after a search", page.evaluate("colour('a')"), plain)
    page.evaluate("memoryView.part('search').value = 'script'; memoryView.part('search').oninput()")
    check("search in sources", page.evaluate("text('found')"), "1 of 9 buffers")
    page.evaluate("memoryView.part('search').value = ''; memoryView.part('search').oninput()")
    end(page, "search")


def choose_colours(page):
    choose = "memoryView.part('colours').value = '{0}'; memoryView.part('colours').dispatchEvent(new Event('change'))"
    check("kinds", set(page.evaluate("text('legend')").split()), {"argument", "temporary", "result"})
    page.evaluate(choose.format("opcode"))
    page.settle()
    check("opcodes", set(page.evaluate("text('legend')").split()), {"parameter", "transpose", "dot", "add"})
    check("colours of opcodes differ", page.evaluate("[colour('a'), colour('b')]"), lambda two: two[0] != two[1])
    light = page.evaluate("[colour('a'), getComputedStyle(document.body).backgroundColor]")
    page.use("dark")
    page.settle()
    dark = page.evaluate("[colour('a'), getComputedStyle(document.body).backgroundColor]")
    check("dark", (light, dark), lambda both: both[0][0] != both[1][0] and both[0][1] == "rgb(255, 255, 255)" != both[1][1])
    page.screenshot(FOLDER / "memory.dark.png")
    page.evaluate("addEventListener('beforeprint', () => { window.printed = [colour('a'), memoryView.chart.canvas.width]; })")
    page.print(FOLDER / "memory.pdf")
    check("a page of paper", (FOLDER / "memory.pdf").read_bytes()[:5], b"%PDF-")
    check("finer than a screen", page.evaluate("printed[1]"), lambda width: width > 2000)
    page.settle()
    check("and back", page.evaluate("colour('a')"), dark[0])
    page.evaluate("[...memoryView.part('tracks').querySelectorAll('input')].pop().click()")
    check("a region is hidden", page.evaluate("memoryView.chart.areas().length"), 3)
    end(page, "colours")


def show_links(chromium):
    page = open_page(chromium, "report.html")
    page.screenshot(FOLDER / "report.light.png")
    check("sections", page.evaluate("[...document.querySelectorAll('h2')].map((one) => one.innerText)"),
          ["memory", "totals", "numerics", "passes", "rewrites", "fusions", "kernels", "seconds"])
    cell = "[...document.querySelectorAll('#fusions td.name button')].find((one) => one.innerText === 'shifted')"
    page.evaluate(cell + ".click()")
    page.settle()
    check("from the table to the buffer of the fusion that computes it", page.evaluate("text('details')"), has("made of", "shifted", "curve"))
    check("its colour in the fusions", page.evaluate("memoryView.colourKey('fusion', memoryView.boxesOf[memoryView.chart.selected][0])"),
          lambda key: "fusion" in key)
    page.evaluate("memoryView.part('details').querySelector(':scope > button').click()")
    page.settle()
    marked = page.evaluate("[...document.querySelectorAll('tr.mentioned')].map((one) => [one.closest('section').id, one.innerText])")
    check("and back to rows that name it", marked, lambda rows: {row[0] for row in rows} == {"fusions", "kernels"} and
          any("shifted" in row[1] for row in rows))
    page.evaluate("document.querySelector('#passes .filter').value = 'fusion'; document.querySelector('#passes .filter').oninput()")
    check("a filter leaves rows", page.evaluate("[...document.querySelectorAll('#passes tbody tr')].filter((one) => !one.hidden).map((one) => one.cells[0].innerText)"),
          lambda names: names and all("fusion" in name for name in names))
    page.screenshot(FOLDER / "report.tables.png")
    end(page, "report.html")


def show_scratch(chromium):
    page = open_page(chromium, "product.html", scheme="dark")
    check("scratch is drawn", page.evaluate("memoryView.chart.model.boxes.filter((one) => one.hatched && one.value).length"), lambda count: count > 0)
    name = page.evaluate("memoryView.chart.model.boxes.find((one) => one.hatched && one.value).value.name")
    page.move(*page.evaluate(f"middle('{name}')"))
    check("scratch", page.evaluate("text('tip')"), has("scratch of ", "what the code of", "needs while it runs"))
    page.screenshot(FOLDER / "product.dark.png")
    end(page, "product.html")


def show_empty(chromium):
    page = open_page(chromium, "empty.html")
    page.screenshot(FOLDER / "empty.light.png")
    check("no temporaries", page.evaluate("document.querySelector('.note').innerText"), has("Nothing is in the workspace"))
    check("what is there", page.evaluate("memoryView.chart.model.tracks.map((one) => one.name)"), ["results", "arguments"])
    page.evaluate("memoryView.part('picture').focus()")
    page.key("p")
    page.key("ArrowRight")
    page.key("f")
    check("keys go on", page.evaluate("memoryView.chart.position"), 1)
    end(page, "empty.html")


def show_plan(chromium):
    """a [-3, 0) and [2, 5) of 100 bytes, b of 100 in its gap, c of 60 pinned on top: 160 at time 1."""
    page = open_page(chromium, "plan.html")
    check("title of a plan", page.evaluate("document.title"), "plan of buffers.csv")
    check("curve of a plan", page.evaluate("memoryView.chart.model.tracks[0].curve"),
          [[-3, 100], [0, 100], [1, 160], [2, 160], [4, 100], [5, 0]])
    check("alive at its peak", page.evaluate("[memoryView.chart.position, ...rows()]"), [1, "b", "c"])
    check("tiles of a plan", page.evaluate("text('tiles')"), has("160 B", "proved to be the least", "reached"))
    page.evaluate("memoryView.part('picture').focus()")
    page.key("Home")
    check("times may be below 0", page.evaluate("[memoryView.chart.position, ...rows()]"), [-3, "a"])
    page.evaluate("memoryView.show('b')")
    check("columns that mean nothing to the planner", page.evaluate("text('details')"), has("note: <b>", "plan [0, 100)"))
    page.screenshot(FOLDER / "plan.light.png")
    end(page, "plan.html")


def synthetic(count):
    """A page of |count| buffers: stairs of 16 buffers that each live for 16 of count / 4 positions."""
    buffers = []
    for number in range(count):
        lives = [[number // 4, number // 4 + 16]]
        buffers.append({"name": f"buffer.{number}", "why": "", "kind": "temporary", "region": 0, "offset": number % 64 * 1024, "size": 1024, "lives": lives,
                        "values": [{"name": f"buffer.{number}", "opcode": "fusion" if number % 3 else "dot", "shape": "f32[256]", "source": "", "bytes": 1024,
                                    "lives": lives, "readers": [number // 4 + 15]}]})
    region = {"name": "workspace", "note": "", "size": 65536, "bound": 65536, "parts": []}
    data = {"unit": "position", "begin": 0, "length": count // 4 + 16, "regions": [region], "buffers": buffers,
            "steps": [[f"step.{position}", "fusion", []] for position in range(count // 4 + 16)]}
    text = (FOLDER / "memory.html").read_text()
    head, tail = text.split('id="memory-data">\n')
    (FOLDER / "many.html").write_text(head + 'id="memory-data">\n' + json.dumps(data) + "\n" + tail[tail.index("</script>"):])


def show_many(chromium):
    synthetic(10000)
    start = time.monotonic()
    page = open_page(chromium, "many.html")
    loaded = time.monotonic() - start
    painted = page.evaluate("(() => { const start = performance.now(); memoryView.chart.paint(1244, 620, 1); return performance.now() - start; })()")
    hits = page.evaluate("""(() => { const chart = memoryView.chart, start = performance.now();
        for (let i = 0; i < 1000; i++) chart.hit(100 + i, 150 + i % 300);
        return (performance.now() - start) / 1000; })()""")
    print(f"10 000 buffers: {loaded:.2f} s to load, {painted:.0f} ms to paint, {1000 * hits:.0f} microseconds to find what is pointed at")
    check("10 000 buffers load", loaded, lambda seconds: seconds < 20)
    check("10 000 buffers are painted", painted, lambda milliseconds: milliseconds < 1000)
    check("one is found", hits, lambda milliseconds: milliseconds < 3)
    check("the curve", page.evaluate("Math.max(...memoryView.chart.model.tracks[0].curve.map((step) => step[1]))"), 65536)
    page.key("/")
    page.type("buffer.7777")
    page.key("Enter")
    check("searched", page.evaluate("text('details')"), has("buffer.7777", "1944 … 1959"))
    for _ in range(8):
        page.evaluate("memoryView.part('closer').click()")
    page.evaluate("memoryView.goTo(7777)")
    x, y = page.evaluate("middle('buffer.7777')")
    page.move(x, y)
    check("hovered among many", page.evaluate("text('tip')"), has("buffer.7777"))
    page.screenshot(FOLDER / "many.light.png")
    end(page, "many.html")


def show_peak(chromium):
    """page_peak.hlo, whose curve testdata/cli/peak.test derives."""
    page = open_page(chromium, "peak.html")
    check("the curve of the peak", page.evaluate("memoryView.chart.model.tracks[0].curve"),
          [[5, 128], [6, 640], [7, 704], [8, 320], [9, 256], [10, 0]])
    check("peak and bound", page.evaluate("memoryView.chart.model.tracks[0].note"),
          "peak 704 B at position 7, third; lower bound 704 B, reached")
    check("the peak's dot", page.evaluate("memoryView.chart.model.tracks[0].dots[0]"), {"time": 7, "value": 704, "text": "peak"})
    end(page, "peak.html")


def main():
    with browser.Browser() as chromium:
        page = show_memory(chromium)
        zoom_and_search(page)
        choose_colours(page)
        show_links(chromium)
        show_scratch(chromium)
        show_empty(chromium)
        show_plan(chromium)
        show_many(chromium)
        show_peak(chromium)
    return 1 if failures() else 0


sys.exit(main())
