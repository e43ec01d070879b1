"""What the picture of a vector processor shows in a browser: processor_in_browser.py FOLDER, with two.html (of two_tiles.vplan, whose head
has the picture by hand), long.html and bert.html with their maps; screenshots are left beside them."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "scripts"))
import browser
from page_checks import check, end, failures, has

FOLDER = pathlib.Path(sys.argv[1])

# In the window: the middle of a box of the kernel shown, by what it is; texts.
HELPERS = """
window.view = processorView.kernel;
window.box = (isMeant) => view.chart.model.boxes.find(isMeant);
window.middle = (box, picture = view) => {
  const chart = picture.chart, r = chart.rectangle(chart.areas().find((one) => one.number === box.track), box);
  const edge = chart.canvas.getBoundingClientRect();
  return [edge.left + r.left + r.width / 2, edge.top + r.top + r.height / 2];
};
window.text = (name) => view.part(name).innerText;
window.label = (number) => view.kernel.labels[number][0];
window.colour = (box) => {
  const chart = view.chart, r = chart.rectangle(chart.areas().find((one) => one.number === box.track), box);
  return [...chart.canvas.getContext("2d").getImageData(r.left + r.width / 2, r.top + r.height * 0.9, 1, 1).data].join();
};
view.part("tools").scrollIntoView({ block: "start" });
"""
COMMAND = "box((one) => one.command && !one.wait && label(one.command.label) === '{0}' && one.from === {1})"
WAIT = "box((one) => one.wait && label(one.command.label) === '{0}' && one.from === {1})"


def open_page(chromium, name, **options):
    page = chromium.open(FOLDER / name, width=1300, height=1000, **options)
    page.evaluate(HELPERS)
    page.settle()
    return page


def point_at(page, what):
    x, y = page.evaluate(f"middle({what})")
    page.move(x, y)
    return x, y


def show_two(chromium):
    page = open_page(chromium, "two.html")
    page.screenshot(FOLDER / "two.light.png")
    check("totals", page.evaluate("processorView.part('tiles').innerText").split("\n"),
          has("352", "192", "efficiency 54.5\u202f%", "4.00 KiB", "4.00 KiB are arguments and results", "6"))
    check("queues", page.evaluate("processorView.part('shares').innerText"), has("busy 54.5\u202f%, waiting 9.1\u202f%, empty 36.4\u202f%",
          "busy 18.2\u202f%, waiting 54.5\u202f%, empty 27.3\u202f%", "busy 54.5\u202f%, waiting 45.5\u202f%, empty 0.0\u202f%"))
    check("commands", page.evaluate("view.commands.map((one) => [label(one.label), one.start, one.end])"),
          [["ld", 0, 96], ["ex", 96, 128], ["st", 128, 224], ["ld", 128, 224], ["ex", 224, 256], ["st", 256, 352]])
    check("waits", page.evaluate("view.commands.flatMap((one) => one.waits.map(([kind, , cause, from, to]) => [label(one.label), kind, label(cause), from, to]))"),
          [["ex", "edge", "ld", 0, 96], ["st", "edge", "ex", 0, 128], ["ld", "edge", "ex", 96, 128], ["ex", "edge", "ld", 128, 224], ["st", "edge", "ex", 224, 256]])
    check("the Buffer", page.evaluate("view.kernel.stretches.map(([tensor, low, high, from, to]) => [view.kernel.tensors[tensor].name, low, high, from, to])"),
          [["tx", 0, 1024, 0, 128], ["ty", 1024, 2048, 96, 224], ["tx", 0, 1024, 128, 256], ["ty", 1024, 2048, 224, 352]])
    check("the table of waits", page.evaluate("text('waits')"), has("queue EX\tex\tld, read-after-write\t2\t192\t54.5", "queue LD\tld\tex, write-after-read\t1\t32\t9.1",
          "LD to EX: 2 read-after-write"))
    check("Tensors", page.evaluate("text('tensors')"), has("tx\tf32[1,256]\tring, 1 slot\tx\t0\t1\u202f024\t0", "ld at 0 to ex at 256"))

    point_at(page, COMMAND.format("ex", 224))
    check("a command", page.evaluate("text('tip')"), has("op ex, number 4, on queue EX", "224 to 256: 32", "ty of y", "96 cycles for ld (number 3)"))
    point_at(page, WAIT.format("st", 0))
    check("a wait", page.evaluate("text('tip')"), has("st waits", "128 cycles for ex (number 1)"))
    page.screenshot(FOLDER / "two.hover.png")
    x, y = point_at(page, "box((one) => one.stretch && one.from === 96)")
    check("a Tensor", page.evaluate("text('tip')"), has("ty\n", "f32[1,256]", "[1\u202f024, 2\u202f048): 1\u202f024, slack 0", "cycle 96, by ex (number 1)", "cycle 224, st (number 2)"))
    page.click(x, y)
    check("it is described", page.evaluate("text('details')"), has("ty\n", "128 cycles"))
    check("and the position goes there", page.evaluate("text('now')"), has("at cycle 1", "st until 224", "ex waits 96 cycles for ld (number 3)", "ld until 224", "2.00 KiB"))
    page.key("Home")
    page.key("ArrowRight")
    check("a key goes to the next command", page.evaluate("view.chart.position"), 96)
    page.key("End")
    check("to the end", page.evaluate("view.chart.position"), 351)
    end(page, "two.html")
    return page


def search_and_zoom(page):
    plain = page.evaluate(f"colour({COMMAND.format('st', 128)})")
    page.key("/")
    page.type("store")
    check("stores", page.evaluate("text('found')"), "2 of 8 Tensors and commands")
    page.key("Enter")
    check("the first", page.evaluate("text('details')"), has("store st, number 2"))
    check("others are dim", page.evaluate(f"colour({COMMAND.format('ld', 128)}) !== colour({COMMAND.format('ld', 0)}) || view.chart.matches.size"), 2)
    page.key("Escape")
    check("nothing is dim", page.evaluate(f"colour({COMMAND.format('st', 128)})"), plain)
    shown = "view.chart.time.to - view.chart.time.from"
    x, y = page.evaluate(f"middle({COMMAND.format('ex', 224)})")
    page.wheel(x, y, -120)
    check("the wheel goes closer", page.evaluate(shown), lambda length: 200 < length < 351)
    page.key("0")
    check("all", page.evaluate(shown), 352)
    page.use("dark")
    page.settle()
    check("dark has other colours", page.evaluate(f"colour({COMMAND.format('st', 128)})"), lambda colour: colour != plain)
    page.screenshot(FOLDER / "two.dark.png")
    page.use("light")
    page.print(FOLDER / "two.pdf")
    check("it prints", (FOLDER / "two.pdf").stat().st_size, lambda size: size > 20000)
    end(page, "search and zoom")


def map_of(name):
    return json.loads((FOLDER / name).read_text())["oncore"]


def show_long(chromium):
    page = open_page(chromium, "long.html")
    of_map = map_of("long.map")["plans"][0]["plan"]
    kernel = page.evaluate("(({cycles, bytes, edges, queues, count, windows, gaps}) => ({cycles, bytes, edges, queues, count, windows, gaps}))(view.kernel)")
    check("more than are drawn", kernel["count"], lambda count: count > 1200)
    check("cycles as in the map", kernel["cycles"], lambda cycles: abs(cycles - of_map["simulated_cycles"]) < 0.01)
    check("bytes and edges, too", [kernel["bytes"], kernel["edges"]], [of_map["memory_bytes"], of_map["edges"]])
    check("parts", [one[0] for one in kernel["windows"]], ["beginning", "middle", "end"])
    told = page.evaluate("view.commands.length")
    check("about 400 in each", told, lambda count: 1200 <= count < 1230)
    check("every command is told or counted", told + sum(gap["commands"] for gap in kernel["gaps"]), kernel["count"])
    for number, (_, _, busy, _) in enumerate(kernel["queues"]):
        inside = page.evaluate(f"""view.commands.filter((one) => view.kernel.labels[one.label][1] === {number}).reduce((sum, one) =>
            sum + view.kernel.windows.reduce((part, [, from, to]) => part + Math.max(0, Math.min(one.end, to) - Math.max(one.start, from)), 0), 0)""")
        between = sum(sum(gap["queues"][number]["busy"]) * (gap["to"] - gap["from"]) / 48 for gap in kernel["gaps"])
        check(f"the parts of queue {number} are the whole", inside + between, lambda sum: abs(sum - busy) < 0.01 * kernel["cycles"])
    page.screenshot(FOLDER / "long.light.png")
    x, y = page.evaluate("middle(box((one) => one.ofQueue))")
    page.move(x, y)
    check("between the parts", page.evaluate("text('tip')"), has("queue LD, summed up", "busy", "commands in all"))
    page.evaluate("view.part('picture').focus()")
    page.key("m")
    check("to the middle", page.evaluate("[view.chart.time.from, view.chart.time.to]"), kernel["windows"][1][1:])
    page.screenshot(FOLDER / "long.middle.png")
    check("the page is small", (FOLDER / "long.html").stat().st_size, lambda size: size < 600000)
    end(page, "long.html")


def show_bert(chromium):
    page = open_page(chromium, "bert.html")
    of_map = map_of("bert.map")
    check("cycles of all", page.evaluate("processorView.cycles"), lambda cycles: abs(cycles - of_map["simulated_cycles"]) < 1)
    check("traffic of all", page.evaluate("processorView.sum((kernel) => kernel.bytes)"), of_map["bytes_moved"])
    check("edges of all", page.evaluate("processorView.sum((kernel) => kernel.edges) + processorView.data.links"), of_map["edges"])
    check("one of each use", page.evaluate("processorView.data.uses.length"), of_map["kernels"])
    heaviest = max(of_map["plans"], key=lambda plan: plan["plan"]["simulated_cycles"] * plan["runs"])
    check("the heaviest is shown", page.evaluate("view.kernel.name"), heaviest["plan"]["kernel"])
    check("what would help", page.evaluate("text('helps')"), has("operations twice as fast", "a Buffer of 512 KiB", "a second queue that loads"))
    now, half = page.evaluate("[view.kernel.estimate, view.kernel.advice.find((one) => one.change === 'operations twice as fast').estimate_cycles]")
    check("what computes all the time takes half with operations twice as fast", half / now, lambda share: 0.45 < share < 0.7)
    x, y = page.evaluate("""(() => { const network = processorView.network; network.section.scrollIntoView();
        return middle(network.chart.model.boxes.find((one) => one.track === 0 && one.item !== network.chart.selected && one.to - one.from > 100000), network); })()""")
    page.move(x, y)
    check("a kernel of the module", page.evaluate("processorView.network.part('tip').innerText"), has("of the module", "limited by"))
    page.click(x, y)
    check("a click shows it", page.evaluate("view.kernel.name"), lambda name: name != heaviest["plan"]["kernel"])
    page.screenshot(FOLDER / "bert.network.png")
    page.evaluate("view.part('tools').scrollIntoView()")
    point_at(page, "view.chart.model.boxes.find((one) => one.command && !one.wait && one.from > view.kernel.cycles / 2)")
    check("a command of it", page.evaluate("text('tip')"), has("command", "cycles"))
    page.screenshot(FOLDER / "bert.hover.png")
    check("a name leads to its buffer", page.evaluate("view.part('title').querySelector('button') !== null"), True)
    check("the page is small", (FOLDER / "bert.html").stat().st_size, lambda size: size < 2000000)
    end(page, "bert.html")


def main():
    with browser.Browser() as chromium:
        page = show_two(chromium)
        search_and_zoom(page)
        show_long(chromium)
        show_bert(chromium)
    return 1 if failures() else 0


sys.exit(main())
