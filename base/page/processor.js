"use strict";

/* The part of a page on a vector processor: its kernels one after the other, and of one of them the on-core Buffer as
 * address × cycles with, below it, what each queue does, what it waits for and why.  The data:
 *
 *   machine {name, clock, buffer, reserve, rate, queues: [[name, kind], …]}
 *   saved (cycles, by kernels that overlap), links (edges between kernels), moduleBound, moduleLimit, argumentBytes, resultBytes, offCore, uses: [[kernel, instruction, runs], …]
 *   kernels [{name, source, base (bytes kept for arrays that stay between kernels), isMove, runs, cycles, estimate, bound, limit, bytes, again, peak, inUse, count, loops: [[name, trips], …],
 *     edges, redundant, barriers, races, edgeCounts: [[from, to, kind, count], …], queues: [[commands, bytes, busy, waiting], …],
 *     tensors: [{name, kind, hold, shape, begin, end, slack, slots, holds, first, last, from, to}, …],
 *     labels: [[label, queue, verb, instruction, tensor], …],
 *     waits: [[queue, label, kind, cause, edge, count, cycles, longest], …], alternatives, advice,
 *     windows: [[name, from, to], …]     the parts that are told command by command
 *     commands: [[instance, label, start, end, bytes, [[kind, cause, its label, from, to], …], [producers]], …]
 *     stretches: [[tensor, begin, end, from, to, first instance, its label, last instance, its label], …]
 *     gaps: [{from, to, commands, queues: [{busy: [share, …], waiting}, …], slots: [[tensor, begin, end, share, count], …]}, …]}]
 *
 * Kernels without windows have no picture. */

const TENSOR_COLOURS = { ring: "c0", resident: "c2", accumulator: "c4", rows: "c6", tensor: "c9" };
const VERB_COLOURS = { load: "c0", store: "c1", gatherm: "c0", barrier: "c5" };
const LIMIT_COLOURS = { load: "c0", store: "c1", exec: "c2", move: "c7" };
const KERNEL_ROWS = 12; // of the table before "more"

/* ---- what both pictures tell ---- */

function shareBar(busy, waiting) {
  const part = (share, name) => element("i", { class: "part " + name, style: `width: ${(100 * Math.max(share, 0)).toFixed(2)}%` });
  return element("div", { class: "bar" }, part(busy, "busy"), part(waiting, "waiting"));
}

/* Bars of queues: [[name, busy, waiting, note], …], shares. */
function shareBars(rows) {
  return rows.map(([name, busy, waiting, note]) => element("div", { class: "share" }, element("b", { text: name }), shareBar(busy, waiting),
    element("span", { text: `busy ${percentText(busy)}, waiting ${percentText(waiting)}, empty ${percentText(Math.max(1 - busy - waiting, 0))}${note}` })));
}

function changeText(now, then) {
  const change = then / now - 1;
  if (Math.abs(change) < 0.0005) return "none";
  return `${change <= 0 ? "\u2212" : "+"}${Math.abs(100 * change).toFixed(1)}\u202f%`;
}

/* What other machines and depths would give of one kernel: [text, cycles now, cycles then], the best first. */
function suggestions(kernel) {
  const rows = [], names = new Map();
  (kernel.alternatives ?? []).forEach((one, place) => {
    const text = place < 2 ? `a Buffer of ${bytesText(one.buffer_bytes)}` : `rings of ${plural(one.depth, "slot")}`;
    if (!names.has(text)) rows.push([text, kernel.estimate, one.fits ? one.estimate_cycles : Infinity]);
    names.set(text, true);
  });
  for (const one of kernel.advice ?? []) rows.push([one.change, kernel.advice_now_cycles, one.estimate_cycles]);
  return rows.sort((a, b) => a[2] / a[1] - b[2] / b[1]);
}

/* ---- all kernels ---- */

class ProcessorView {
  constructor(section, data) {
    this.section = section;
    this.data = data;
    this.part = (name) => section.querySelector(":scope > ." + name);
    this.cycles = data.kernels.reduce((sum, kernel) => sum + kernel.cycles * kernel.runs, 0) - data.saved;
    this.kernel = new KernelView(this.part("kernel"), data);
    this.addTotals();
    this.network = new NetworkView(this.part("network"), this);
    this.show(this.heaviest());
    PictureView.current = this.kernel;
  }

  sum(of) {
    return this.data.kernels.reduce((sum, kernel) => sum + of(kernel) * kernel.runs, 0);
  }

  heaviest() {
    const cycles = this.data.kernels.map((kernel) => kernel.cycles * kernel.runs);
    return cycles.indexOf(cycles.reduce((most, one) => Math.max(most, one), 0));
  }

  /* Shows what happens inside kernel |number|. */
  show(number) {
    this.kernel.show(number);
    this.network.mark(number);
  }

  addTotals() {
    const { machine, moduleBound, argumentBytes, resultBytes } = this.data;
    const bytes = this.sum((kernel) => kernel.bytes), again = this.sum((kernel) => kernel.again ?? 0);
    const edges = this.sum((kernel) => kernel.edges) + this.data.links, barriers = this.sum((kernel) => kernel.barriers);
    const bound = this.sum((kernel) => kernel.bound), peak = this.data.kernels.reduce((most, kernel) => Math.max(most, kernel.peak), 0);
    const seconds = machine.clock > 0 ? `${((1e6 * this.cycles) / machine.clock).toFixed(1)} \u00b5s at ${(machine.clock / 1e9).toFixed(2)} GHz` : "";
    const runs = this.sum(() => 1), least = argumentBytes + resultBytes;
    this.part("tiles").replaceChildren(
      tile("cycles", cyclesText(this.cycles), seconds),
      ...(this.data.saved > 0 ? [tile("saved by overlap", cyclesText(this.data.saved), "kernels begin before others have ended; below, each is by itself")] : []),
      tile("at least, these commands", cyclesText(bound), `efficiency ${percentText(this.cycles > 0 ? bound / this.cycles : 1)}`),
      tile("at least, any plan", cyclesText(moduleBound), `${percentText(this.cycles > 0 ? moduleBound / this.cycles : 1)}, ${this.data.moduleLimit}`),
      tile("traffic", bytesText(bytes), least > 0 ? `${bytesText(least)} are arguments and results` : ""),
      tile("loaded again", bytesText(again), bytes > 0 ? `${percentText(again / bytes)} of the traffic, within kernels` : ""),
      tile("edges", cyclesText(edges), `${plural(barriers, "barrier")}`),
      tile("Buffer", bytesText(peak), `most that a kernel uses of ${bytesText(machine.buffer)}`),
      tile("kernels", cyclesText(this.data.uses.length), `${plural(this.data.kernels.length, "plan")}, ${plural(runs, "run")}`));
    if (this.cycles <= 0) return;
    this.part("shares").replaceChildren(...shareBars(machine.queues.map(([name], queue) => [`queue ${name}`,
      this.sum((kernel) => kernel.queues[queue]?.[2] ?? 0) / this.cycles, this.sum((kernel) => kernel.queues[queue]?.[3] ?? 0) / this.cycles, ""])));
  }
}

class NetworkView extends PictureView {
  constructor(section, owner) {
    super(section);
    this.owner = owner;
    this.data = owner.data;
    this.chart = this.makeChart(this.model());
    this.hearKeys();
    this.addLegend();
    this.addKernels();
    this.addAdvice();
  }

  model() {
    const { kernels, machine, uses } = this.data, boxes = [], queues = machine.queues.length;
    let time = 0;
    uses.forEach(([item, name, runs], place) => {
      const kernel = kernels[item], length = kernel.cycles * runs;
      if (length <= 0) return;
      const box = { from: time, to: time + length, item, place, hatched: false, faint: false };
      boxes.push({ ...box, track: 0, low: 0, high: 1, colour: this.colourOf(kernel), text: name });
      boxes.push({ ...box, track: 1, low: 0, high: Math.min(kernel.bound / kernel.cycles, 1), colour: this.colourOf(kernel), text: "" });
      for (let queue = 0; queue < queues; queue++) {
        const [, , busy, waiting] = kernel.queues[queue] ?? [0, 0, 0, 0];
        boxes.push({ ...box, track: 2 + queue, low: 0, high: busy / kernel.cycles, colour: LIMIT_COLOURS[machine.queues[queue][1]], text: "" });
        boxes.push({ ...box, track: 2 + queue, low: busy / kernel.cycles, high: (busy + waiting) / kernel.cycles, colour: "c11", hatched: true, text: "" });
      }
      time += length;
    });
    const unit = (share) => (share === 0 || share === 1 ? `${100 * share}\u202f%` : "");
    const track = (name, note, weight, text) => ({ name, note, low: 0, high: 1, weight, unit: text });
    const tracks = [track("kernels", "coloured by what limits them", 1.4, () => ""), track("efficiency", "least cycles of a kernel's commands by its cycles", 1, unit),
      ...machine.queues.map(([name]) => track(`queue ${name}`, "busy; hatched: waiting", 1, unit))];
    return { start: 0, end: Math.max(time, 1), unit: "cycle", tracks, boxes, edges: [], continuous: true };
  }

  /* By the kind of queue that limits it. */
  colourOf(kernel) {
    const queue = this.data.machine.queues.find(([name]) => kernel.limit === `queue ${name}`);
    return queue ? LIMIT_COLOURS[queue[1]] : "c4";
  }

  addLegend() {
    const kinds = new Set(this.data.kernels.map((kernel) => `${kernel.limit}|${this.colourOf(kernel)}`));
    this.part("legend").replaceChildren(...[...kinds].sort().map((one) => legendEntry(`limited by ${one.split("|")[0]}`, one.split("|")[1])), legendEntry("waiting for an edge", "c11", true));
  }

  tipOf(box) {
    const [item, name, runs] = this.data.uses[box.place], kernel = this.data.kernels[item];
    return [name, [["cycles", `${cyclesText(kernel.cycles)}${runs === 1 ? "" : `, ${cyclesText(runs)} times: ${cyclesText(kernel.cycles * runs)}`}`],
      ["of the module", percentText((kernel.cycles * runs) / this.owner.cycles)],
      ["at least", `${cyclesText(kernel.bound)}, efficiency ${percentText(kernel.bound / kernel.cycles)}`], ["limited by", kernel.limit],
      ["traffic", bytesText(kernel.bytes) + (kernel.again > 0 ? `, ${bytesText(kernel.again)} of it loaded again` : "")],
      ["plan of", kernel.name === name ? "" : kernel.name], ["source", kernel.source]].filter(([, text]) => text)];
  }

  choose(item) {
    if (item !== null) this.owner.show(item);
  }

  mark(item) {
    this.chart.selected = item;
    this.chart.invalidate();
    for (const row of this.part("kernels").querySelectorAll("tr[data-item]")) row.classList.toggle("chosen", Number(row.dataset.item) === item);
  }

  moreKeys() {
    const step = (by) => {
      const places = this.chart.model.boxes.filter((box) => box.track === 0), here = places.findIndex((box) => box.item === this.chart.selected);
      const box = places[Math.min(Math.max(here + by, 0), places.length - 1)];
      if (!box) return;
      this.chart.reveal(box.from, box.to);
      this.chart.setPosition(Math.floor(box.from));
      this.owner.show(box.item);
    };
    return { ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => step(-Infinity), End: () => step(Infinity),
      Enter: () => this.owner.kernel.section.scrollIntoView({ block: "start" }) };
  }

  /* Those first that lose most: cycles beyond the least. */
  addKernels(limit = KERNEL_ROWS) {
    const lost = (kernel) => (kernel.cycles - kernel.bound) * kernel.runs, { kernels } = this.data;
    const order = kernels.map((kernel, item) => item).sort((a, b) => lost(kernels[b]) - lost(kernels[a]) || a - b);
    const rows = order.slice(0, limit).map((item) => {
      const kernel = kernels[item], total = kernel.cycles * kernel.runs;
      return [element("button", { class: "link", text: kernel.name, onclick: () => this.owner.show(item) }), cyclesText(kernel.runs), cyclesText(total),
        this.owner.cycles > 0 ? percentText(total / this.owner.cycles) : "", kernel.cycles > 0 ? percentText(kernel.bound / kernel.cycles) : "", cyclesText(lost(kernel)), kernel.limit,
        bytesText(kernel.bytes * kernel.runs), bytesText((kernel.again ?? 0) * kernel.runs)];
    });
    const table = tableOf(["kernel", "#runs", "#cycles", "#of all", "#efficiency", "#lost", "limit", "#traffic", "#again"], rows);
    [...table.tBodies[0].rows].forEach((row, place) => {
      row.dataset.item = order[place];
      row.onclick = () => this.owner.show(order[place]);
    });
    const more = order.length > limit ? element("button", { class: "link", text: `${order.length - limit} more`, onclick: () => this.addKernels(Infinity) }) : null;
    this.part("kernels").replaceChildren(element("h3", { text: "kernels, those that lose most first" }), element("p", { class: "soft", text: "Lost: cycles beyond what a kernel's commands take at least." }), table, ...(more ? [more] : []));
  }

  /* What each change would give of all kernels that are known, the others staying as they are. */
  addAdvice() {
    const changes = new Map(), { kernels } = this.data;
    for (const kernel of kernels) {
      for (const [text, now, then] of suggestions(kernel)) {
        if (!isFinite(then)) continue;
        const sums = changes.get(text) ?? [0, 0];
        sums[0] += kernel.runs * kernel.cycles * (then / now - 1);
        sums[1]++;
        changes.set(text, sums);
      }
    }
    const rows = [...changes].sort((a, b) => a[1][0] - b[1][0]).map(([text, [change, count]]) => [text, cyclesText(this.owner.cycles + change),
      changeText(this.owner.cycles, this.owner.cycles + change), count === kernels.length ? "all" : `${count} of ${kernels.length}`]);
    this.part("advice").replaceChildren(element("h3", { text: "what would help" }), rows.length > 0 ? tableOf(["with", "#cycles", "#change", "#plans asked"], rows)
      : element("p", { class: "soft", text: "Plans written by hand are not compared with others." }),
      ...(rows.length > 0 ? [element("p", { class: "soft", text: "Estimates of the planner for one change at a time." })] : []));
  }
}

/* ---- one kernel ---- */

class KernelView extends PictureView {
  constructor(section, data) {
    super(section);
    this.data = data;
    this.noun = "Tensors and commands";
    this.chart = this.makeChart({ start: 0, end: 1, unit: "cycle", tracks: [], boxes: [], edges: [], continuous: true });
    this.chart.onmove = () => this.showNow();
    this.listen();
  }

  show(number) {
    const kernel = this.kernel = this.data.kernels[number];
    if (!kernel) return;
    this.hasPicture = (kernel.windows ?? []).length > 0;
    this.gather();
    this.chart.setModel(this.model());
    this.texts = this.searchTexts();
    this.search("");
    this.part("search").value = "";
    this.addHead();
    this.addParts();
    this.addTrackChoices();
    this.paintLegend(this.part("colours").value);
    this.addWaits();
    this.addHelps();
    this.addTensors();
    for (const name of ["tools", "frame", "legend", "keys"]) this.part(name).hidden = !this.hasPicture;
    this.choose(null);
    this.chart.setPosition(0);
    this.chart.onmove(0);
  }

  /* ---- names ---- */

  /* Items: Tensors, then commands that are told, then the gaps' columns and slots. */
  gather() {
    const kernel = this.kernel;
    this.tensorCount = kernel.tensors.length;
    this.commands = (kernel.commands ?? []).map(([instance, label, start, end, bytes, waits, edges], place) =>
      ({ instance, label, start, end, bytes, waits, edges, item: this.tensorCount + place }));
    this.byInstance = new Map(this.commands.map((command) => [command.instance, command]));
    this.starts = [...new Set(this.commands.map((command) => command.start))].sort((a, b) => a - b);
    this.gapItem = this.tensorCount + this.commands.length;
  }

  label(number) {
    return this.kernel.labels[number]?.[0] ?? "";
  }

  queueName(number) {
    return this.data.machine.queues[number]?.[0] ?? "";
  }

  instanceText(instance, label) {
    return `${this.label(label)} (number ${grouped(instance)})`;
  }

  waitText([kind, cause, label, from, to]) {
    const what = kind === "edge" ? `for ${this.instanceText(cause, label)}` : kind === "room" ? `to be issued: queue ${this.queueName(this.kernel.labels[label][1])} is full`
      : `for barrier ${this.label(label)}`;
    return `${cyclesText(to - from)} cycles ${what}`;
  }

  searchTexts() {
    const kernel = this.kernel;
    const tensors = kernel.tensors.map((tensor) => `${tensor.name}\n${tensor.kind}\n${tensor.shape}\n${tensor.holds ?? ""}`);
    const commands = this.commands.map((command) => {
      const [label, queue, verb, instruction, tensor] = kernel.labels[command.label];
      return `${label}\n${this.queueName(queue)}\n${verb}\n${instruction}\n${kernel.tensors[tensor]?.name ?? ""}\n${kernel.tensors[tensor]?.holds ?? ""}`;
    });
    return [...tensors, ...commands].map((text) => text.toLowerCase());
  }

  inOrder(items) {
    return items;
  }

  /* ---- the data as a model of a Chart ---- */

  model() {
    const kernel = this.kernel, { queues, buffer } = this.data.machine, boxes = [];
    if (!this.hasPicture) return { start: 0, end: 1, unit: "cycle", tracks: [], boxes, edges: [], continuous: true };
    const high = Math.max(kernel.peak, 1);
    const tracks = [{ name: "Buffer", note: `peak ${bytesText(kernel.peak)} of ${bytesText(buffer)}, ${bytesText(kernel.inUse)} in use at once`, low: 0, high, weight: 6, unit: bytesText }];
    if (kernel.base > 0) {
      tracks[0].lines = [{ value: kernel.base, colour: "accent" }];
      tracks[0].note += `; below ${bytesText(kernel.base)}: arrays that stay between kernels`;
    }
    this.trackOf = queues.map(([name, kind], queue) => {
      const [count, bytes, busy, waiting] = kernel.queues[queue];
      const moved = kind === "exec" ? "" : `, ${bytesText(bytes)}`;
      tracks.push({ name: `queue ${name}`, low: 0, high: 1, weight: 1, unit: () => "",
        note: `${plural(count, "command")}${moved}, busy ${percentText(busy / kernel.cycles)}, waiting ${percentText(waiting / kernel.cycles)}` });
      return tracks.length - 1;
    });
    const edges = this.addBoxes(boxes);
    return { start: 0, end: kernel.cycles, unit: "cycle", tracks, boxes, edges, continuous: true };
  }

  addBoxes(boxes) {
    const { kernel } = this, edges = [], boxOf = new Map();
    const base = { colour: "c11", hatched: false, faint: false };
    kernel.tensors.forEach((tensor, item) => {
      if (tensor.hold) boxes.push({ ...base, track: 0, from: 0, to: kernel.cycles, low: tensor.begin, high: tensor.end, item, text: tensor.name, faint: true });
    });
    kernel.gaps.forEach((gap, number) => this.addGap(boxes, gap, number));
    for (const command of this.commands) {
      const [label, queue] = kernel.labels[command.label];
      if (queue < 0) continue;
      for (const wait of command.waits)
        boxes.push({ ...base, track: this.trackOf[queue], from: wait[3], to: wait[4], low: 0, high: 0.45, item: command.item, text: `waits for ${wait[0] === "edge" ? this.label(wait[2]) : wait[0]}`, hatched: true, command, wait });
      boxOf.set(command.instance, boxes.length);
      boxes.push({ ...base, track: this.trackOf[queue], from: command.start, to: Math.max(command.end, command.start + 1e-3), low: 0, high: 1, item: command.item, text: label, command });
    }
    for (const stretch of kernel.stretches) {
      const [tensor, low, high, from, to, first, , last] = stretch, number = boxes.length;
      boxes.push({ ...base, track: 0, from, to, low, high, item: tensor, text: kernel.tensors[tensor].name, stretch });
      if (boxOf.has(first)) edges.push({ from: boxOf.get(first), to: number });
      if (boxOf.has(last) && last !== first) edges.push({ from: number, to: boxOf.get(last) });
    }
    for (const command of this.commands)
      for (const producer of command.edges)
        if (boxOf.has(producer) && boxOf.has(command.instance)) edges.push({ from: boxOf.get(producer), to: boxOf.get(command.instance) });
    return edges;
  }

  /* Columns of time that say how busy queues are, and slots as long as the gap. */
  addGap(boxes, gap, number) {
    const base = { colour: "c11", hatched: false, faint: false, item: this.gapItem + number, gap };
    gap.queues.forEach(({ busy, waiting }, queue) => {
      const width = (gap.to - gap.from) / busy.length;
      busy.forEach((share, column) => {
        const from = gap.from + column * width, to = from + width, box = { ...base, track: this.trackOf[queue], from, to, queue, share, waiting: waiting[column] };
        if (share > 0) boxes.push({ ...box, low: 0, high: share, text: "", faint: true, ofQueue: true });
        if (waiting[column] > 0) boxes.push({ ...box, low: share, high: Math.min(share + waiting[column], 1), text: "", hatched: true, faint: true });
      });
    });
    for (const slot of gap.slots)
      boxes.push({ ...base, track: 0, from: gap.from, to: gap.to, low: slot[1], high: slot[2], item: slot[0], text: this.kernel.tensors[slot[0]].name, faint: 0.08 + 0.4 * slot[3], slot });
  }

  /* ---- colours ---- */

  colourOf(box, mode) {
    const { tensors, labels } = this.kernel;
    if (box.ofQueue) return LIMIT_COLOURS[this.data.machine.queues[box.queue][1]];
    if (box.wait || (box.gap && !box.slot)) return "c11";
    const tensor = box.command ? labels[box.command.label][4] : box.item;
    if (mode === "kind") return box.command ? VERB_COLOURS[labels[box.command.label][2]] ?? "c7" : TENSOR_COLOURS[tensors[tensor].kind];
    return tensor >= 0 ? "c" + (tensor % COLOUR_COUNT) : "c11";
  }

  paintLegend(mode) {
    const { tensors } = this.kernel;
    for (const box of this.chart.model.boxes) box.colour = this.colourOf(box, mode);
    const entries = mode === "kind"
      ? [...new Set(tensors.map((tensor) => tensor.kind))].map((kind) => legendEntry(kind, TENSOR_COLOURS[kind])).concat(
        legendEntry("load", "c0"), legendEntry("store", "c1"), legendEntry("computation", "c7"))
      : tensors.slice(0, 24).map((tensor, place) => legendEntry(tensor.holds ? `${tensor.name} (${tensor.holds})` : tensor.name, "c" + (place % COLOUR_COUNT)));
    if (mode !== "kind" && tensors.length > 24) entries.push(element("span", { text: `and ${tensors.length - 24} more, the colours in turn` }));
    entries.push(legendEntry("waiting", "c11", true));
    if (this.kernel.gaps?.length > 0) entries.push(element("span", { class: "soft", text: "faint: summed up between the parts that are shown command by command" }));
    this.part("legend").replaceChildren(...entries);
    this.chart.invalidate();
  }

  /* ---- texts ---- */

  addHead() {
    const kernel = this.kernel, { uses, machine } = this.data, names = uses.filter(([item]) => this.data.kernels[item] === kernel).map(([, name]) => name);
    const title = this.part("title"), more = names.filter((name) => name !== kernel.name);
    const loops = kernel.loops.map(([name, trips]) => `${name} ${grouped(trips)}`).join(", ");
    title.replaceChildren("kernel ", this.instruction(kernel.name), more.length > 0 ? ` and ${more.slice(0, 6).join(", ")}${more.length > 6 ? ` and ${more.length - 6} more` : ""}` : "",
      element("small", { class: "soft", text: `  ${loops ? `loops ${loops}` : "no loops"}${kernel.source ? `; ${kernel.source}` : ""}` }));
    const least = kernel.cycles > 0 ? kernel.bound / kernel.cycles : 1;
    this.part("tiles").replaceChildren(
      tile("cycles", cyclesText(kernel.cycles), kernel.runs === 1 ? "" : `${cyclesText(kernel.runs)} runs: ${cyclesText(kernel.cycles * kernel.runs)}`),
      tile("at least", cyclesText(kernel.bound), `efficiency ${percentText(least)}, limited by ${kernel.limit}`),
      tile("estimate", kernel.estimate ? cyclesText(kernel.estimate) : "none", kernel.estimate ? changeText(kernel.cycles, kernel.estimate) : kernel.base !== undefined ? "arrays stay around it" : "written by hand"),
      tile("traffic", bytesText(kernel.bytes), kernel.cycles > 0 ? `${(kernel.bytes / kernel.cycles).toFixed(1)} a cycle${machine.rate > 0 ? ` of ${machine.rate}` : ""}` : ""),
      tile("loaded again", kernel.again === undefined ? "unknown" : bytesText(kernel.again), kernel.again > 0 ? `${percentText(kernel.again / kernel.bytes)} of the traffic` : ""),
      tile("edges", cyclesText(kernel.edges), `${grouped(kernel.redundant)} redundant, ${plural(kernel.barriers, "barrier")}, ${plural(kernel.races, "race")}`),
      tile("commands", cyclesText(kernel.count), this.commands.length < kernel.count ? `${grouped(this.commands.length)} shown one by one` : ""));
    if (kernel.cycles <= 0) return;
    this.part("shares").replaceChildren(...shareBars(machine.queues.map(([name], queue) => [`queue ${name}`, kernel.queues[queue][2] / kernel.cycles,
      kernel.queues[queue][3] / kernel.cycles, `; ${plural(kernel.queues[queue][0], "command")}`])));
  }

  /* A name that leads to its buffer in the picture of memory. */
  instruction(name) {
    return window.memoryView ? window.memoryView.link(name) : element("span", { text: name });
  }

  addParts() {
    const windows = this.kernel.windows ?? [];
    this.part("parts").replaceChildren(...(windows.length > 1 ? windows.map(([name, from, to]) =>
      element("button", { text: name, title: `cycles ${cyclesText(from)} to ${cyclesText(to)} (${name[0]})`, onclick: () => this.showWindow(name) })) : []));
  }

  showWindow(name) {
    const window = (this.kernel.windows ?? []).find((one) => one[0] === name);
    if (!window) return;
    this.chart.fit();
    this.chart.setTime(window[1], window[2]);
    this.chart.setPosition(Math.ceil(window[1]));
  }

  commandFacts(command) {
    const [label, queue, verb, instruction, tensor] = this.kernel.labels[command.label], facts = [];
    facts.push(["command", `${verb} ${label}, number ${grouped(command.instance)}, on queue ${this.queueName(queue)}`]);
    facts.push(["cycles", `${cyclesText(command.start)} to ${cyclesText(command.end)}: ${cyclesText(command.end - command.start)}`]);
    if (command.bytes > 0) facts.push(["bytes", grouped(command.bytes)]);
    if (tensor >= 0) facts.push(["Tensor", this.kernel.tensors[tensor].name + (this.kernel.tensors[tensor].holds ? ` of ${this.kernel.tensors[tensor].holds}` : "")]);
    if (instruction) facts.push(["instruction", instruction]);
    for (const wait of command.waits) facts.push(["waited", this.waitText(wait)]);
    if (command.edges.length > 0) facts.push(["edges from", command.edges.slice(0, 6).map((one) => (this.byInstance.has(one) ? this.instanceText(one, this.byInstance.get(one).label) : `number ${grouped(one)}`)).join(", ") + (command.edges.length > 6 ? ` and ${command.edges.length - 6} more` : "")]);
    return facts;
  }

  tensorFacts(tensor, stretch) {
    const facts = [["shape", tensor.shape], ["bytes", `[${grouped(tensor.begin)}, ${grouped(tensor.end)}): ${grouped(tensor.end - tensor.begin)}, slack ${grouped(tensor.slack)}`],
      ["kind", tensor.slots ? `${tensor.kind} of ${plural(tensor.slots, "slot")}` : tensor.kind]];
    if (tensor.holds) facts.push(["holds", tensor.holds]);
    if (tensor.hold) facts.push(["between kernels", tensor.hold]);
    if (stretch) {
      const [, begin, end, from, to, first, firstLabel, last, lastLabel] = stretch;
      if (tensor.slots > 1) facts.push(["slot", `[${grouped(begin)}, ${grouped(end)})`]);
      facts.push(["holds this from", `cycle ${cyclesText(from)}, by ${this.instanceText(first, firstLabel)}`], ["to", `cycle ${cyclesText(to)}, ${this.instanceText(last, lastLabel)}`], ["for", `${cyclesText(to - from)} cycles`]);
    }
    if (tensor.from !== undefined) facts.push(["in use", `${this.label(tensor.first)} at ${cyclesText(tensor.from)} to ${this.label(tensor.last)} at ${cyclesText(tensor.to)}`]);
    return facts;
  }

  gapFacts(box) {
    const span = ["cycles", `${cyclesText(box.gap.from)} to ${cyclesText(box.gap.to)}, ${plural(box.gap.commands, "command")} in all`];
    if (box.slot) return [["slot", `[${grouped(box.slot[1])}, ${grouped(box.slot[2])})`], ["holds something", `${percentText(box.slot[3])} of the time, ${plural(box.slot[4], "time")}`], span];
    return [["from here", `cycle ${cyclesText(box.from)} to ${cyclesText(box.to)}`], ["busy", percentText(box.share)], ["waiting", percentText(box.waiting)], span];
  }

  tipOf(box) {
    if (box.gap) return [box.slot ? this.kernel.tensors[box.item].name : `queue ${this.queueName(box.queue)}, summed up`, this.gapFacts(box)];
    if (box.wait) return [`${this.label(box.command.label)} waits`, [["waits", this.waitText(box.wait)], ...this.commandFacts(box.command).filter(([name]) => name !== "waited")]];
    if (box.command) return [this.label(box.command.label), this.commandFacts(box.command)];
    return [this.kernel.tensors[box.item].name, this.tensorFacts(this.kernel.tensors[box.item], box.stretch)];
  }

  /* ---- what is chosen ---- */

  choose(item, box = null) {
    this.chart.selected = item;
    this.chart.invalidate();
    const shown = box ?? this.chart.model.boxes.find((one) => one.item === item && !one.wait && !one.gap) ?? null;
    const facts = item === null ? null : shown ? this.tipOf(shown) : item < this.tensorCount ? [this.kernel.tensors[item].name, this.tensorFacts(this.kernel.tensors[item])] : null;
    this.part("details").replaceChildren(...(facts ? [element("h3", { text: facts[0] }), element("table", { class: "facts" }, ...facts[1].map(([name, text]) =>
      element("tr", {}, element("th", { text: name }), element("td", { text }))))]
      : [element("h3", { text: "nothing chosen" }), element("p", { class: "soft", text: "Click on a Tensor, a command or a wait in the picture, or search for one. Lines lead from what it waits for, and to what waits for it." })]));
    for (const row of this.part("tensors").querySelectorAll("tr[data-item]")) row.classList.toggle("chosen", Number(row.dataset.item) === item);
  }

  goTo(item) {
    const box = this.chart.model.boxes.find((one) => one.item === item && !one.wait && !one.gap) ?? this.chart.model.boxes.find((one) => one.item === item);
    if (box) {
      this.chart.reveal(box.from, Math.min(box.to, box.from + (this.chart.time.to - this.chart.time.from)));
      this.chart.setPosition(Math.ceil(box.from));
    }
    this.part("tip").hidden = true;
    this.choose(item, box ?? null);
  }

  /* ---- what is there and what happens at a cycle ---- */

  showNow() {
    const panel = this.part("now");
    if (!this.hasPicture) { panel.replaceChildren(element("p", { class: "soft", text: "No picture of this kernel: the page shows those that take the most cycles." })); return; }
    const at = this.chart.position, { kernel } = this, holds = (from, to) => from <= at && at < to;
    const inWindow = kernel.windows.some(([, from, to]) => holds(from, to) || at >= kernel.cycles - 1);
    const queues = this.data.machine.queues.map(([name], queue) => [`queue ${name}`, this.doing(queue, at, inWindow)]);
    const alive = kernel.stretches.filter((stretch) => holds(stretch[3], stretch[4])).sort((a, b) => a[1] - b[1]);
    const bytes = alive.reduce((sum, stretch) => sum + stretch[2] - stretch[1], 0);
    const rows = alive.map((stretch) => [element("span", {}, swatch(this.colourOf({ item: stretch[0] }, this.part("colours").value)), element("button", { class: "link", text: kernel.tensors[stretch[0]].name, onclick: () => this.choose(stretch[0],
      this.chart.model.boxes.find((box) => box.stretch === stretch)) })), grouped(stretch[2] - stretch[1]), grouped(stretch[1]), kernel.tensors[stretch[0]].holds ?? "", `${cyclesText(stretch[3])} \u2026 ${cyclesText(stretch[4])}`]);
    panel.replaceChildren(element("h3", { text: `at cycle ${cyclesText(at)}` }), element("table", { class: "facts" }, ...queues.map(([name, text]) => element("tr", {}, element("th", { text: name }), element("td", { text })))),
      element("h3", { class: "later", text: inWindow ? `in the Buffer: ${bytesText(bytes)}` : `in the Buffer all the time around this cycle: ${bytesText(bytes)}` }),
      rows.length > 0 ? tableOf(["Tensor", "#bytes", "#at", "holds", "cycles"], rows) : element("p", { class: "soft", text: "Nothing." }));
  }

  doing(queue, at, inWindow) {
    const boxes = this.chart.model.boxes.filter((box) => box.track === this.trackOf[queue] && box.from <= at && at < box.to);
    const box = boxes.find((one) => one.command && !one.wait) ?? boxes[0];
    if (!box) return inWindow ? "at rest, with no command" : "";
    if (box.gap) return `busy ${percentText(box.share)}, waiting ${percentText(box.waiting)} around this cycle`;
    if (box.wait) return `${this.label(box.command.label)} waits ${this.waitText(box.wait)}`;
    return `${this.label(box.command.label)} until ${cyclesText(box.to)}`;
  }

  moreKeys(event) {
    const move = (by) => {
      const at = this.chart.position, place = by > 0 ? this.starts.findIndex((start) => Math.ceil(start) > at) : this.starts.findLastIndex((start) => Math.ceil(start) < at);
      if (place < 0) return;
      const start = this.starts[Math.min(Math.max(place + by - Math.sign(by), 0), this.starts.length - 1)];
      this.chart.setPosition(Math.ceil(start));
      this.chart.reveal(this.chart.position);
    };
    const far = event.shiftKey ? 10 : 1;
    return {
      ArrowLeft: () => move(-far), ArrowRight: () => move(far), ArrowUp: () => this.neighbour(1), ArrowDown: () => this.neighbour(-1),
      Home: () => { this.chart.setPosition(0); this.chart.reveal(0); }, End: () => { this.chart.setPosition(Infinity); this.chart.reveal(this.chart.position); },
      b: () => this.showWindow("beginning"), m: () => this.showWindow("middle"), e: () => this.showWindow("end"),
    };
  }

  /* The next above or below the chosen one among Tensors and commands at the position. */
  neighbour(step) {
    const at = this.chart.position, order = (box) => (box.track === 0 ? 1000 + box.low / this.chart.model.tracks[0].high : 1000 - box.track);
    const boxes = this.chart.model.boxes.filter((box) => !box.gap && box.from <= at && at < box.to).sort((a, b) => order(a) - order(b));
    if (boxes.length === 0) return;
    const place = boxes.findIndex((box) => box.item === this.chart.selected);
    const next = boxes[place < 0 ? (step > 0 ? 0 : boxes.length - 1) : Math.min(Math.max(place + step, 0), boxes.length - 1)];
    this.choose(next.item, next);
  }

  /* ---- tables ---- */

  addWaits() {
    const { kernel } = this;
    const rows = (kernel.waits ?? []).map(([queue, label, kind, cause, edge, count, cycles, longest]) => [`queue ${this.queueName(queue)}`, this.label(label),
      kind === "edge" ? `${this.label(cause)}, ${edge}` : kind === "room" ? `room in queue ${this.queueName(cause)}` : `barrier ${this.label(cause)}`, grouped(count), cyclesText(cycles), percentText(cycles / kernel.cycles), cyclesText(longest)]);
    const kinds = kernel.edgeCounts.map(([from, to, kind, count]) => `${this.queueName(from)} to ${this.queueName(to)}: ${grouped(count)} ${kind}`);
    this.part("waits").replaceChildren(element("h3", { text: "waits, the longest in all first" }),
      rows.length > 0 ? tableOf(["at rest", "command", "waits for", "#times", "#cycles", "#of all", "#longest"], rows) : element("p", { class: "soft", text: "No queue waits for anything." }),
      element("p", { class: "soft", text: kinds.length > 0 ? `Edges: ${kinds.join("; ")}.` : "No edges." }));
  }

  addHelps() {
    const { kernel } = this, rows = suggestions(kernel).map(([text, now, then]) => (isFinite(then) ? [text, cyclesText(then), changeText(now, then)] : [text, "", "does not fit"]));
    const schemes = (kernel.schemes ?? []).map((one) => [String(one.scheme ?? ""), one.fits === false ? "does not fit" : cyclesText(one.cycles ?? 0)]);
    this.part("helps").replaceChildren(element("h3", { text: "what would help" }),
      rows.length > 0 ? tableOf(["with", "#estimate", "#change"], rows) : element("p", { class: "soft", text: kernel.base !== undefined ? "Not asked: arrays stay in the Buffer around this kernel."
        : kernel.estimate ? "Not asked: other kernels take more cycles." : "A plan written by hand is not compared with others." }),
      ...(schemes.length > 0 ? [element("h3", { class: "later", text: "schemes" }), tableOf(["scheme", "#cycles"], schemes)] : []));
  }

  addTensors() {
    const { kernel } = this;
    const rows = kernel.tensors.map((tensor, item) => [element("span", {}, swatch("c" + (item % COLOUR_COUNT)), element("button", { class: "link", text: tensor.name, onclick: () => this.goTo(item) })), tensor.shape, tensor.slots ? `${tensor.kind}, ${plural(tensor.slots, "slot")}` : tensor.kind,
      tensor.holds ?? "", grouped(tensor.begin), grouped(tensor.end - tensor.begin), grouped(tensor.slack), tensor.from === undefined ? "" : `${this.label(tensor.first)} at ${cyclesText(tensor.from)} to ${this.label(tensor.last)} at ${cyclesText(tensor.to)}`]);
    const table = tableOf(["Tensor", "shape", "kind", "holds", "#at", "#bytes", "#slack", "in use"], rows);
    [...table.tBodies[0].rows].forEach((row, item) => { row.dataset.item = item; });
    this.part("tensors").replaceChildren(element("h3", { text: `Tensors in the Buffer, up to ${bytesText(kernel.peak)}` }), table);
  }
}

{
  const data = document.getElementById("processor-data");
  if (data) window.processorView = new ProcessorView(document.getElementById("processor"), JSON.parse(data.textContent));
}
