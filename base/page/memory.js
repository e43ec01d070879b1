"use strict";

/* The memory part of a page: the data of memory_chart.h as a Chart, with a search, a legend, what is known of one
 * buffer, and what is alive at a position. */

const KIND_COLOURS = {
  buffer: "c0", pinned: "c1",
  temporary: "c0", scratch: "c5", guest: "c7", result: "c2", "donated argument": "c1", argument: "c9", constant: "c8", residents: "c4",
};
const COLOUR_COUNT = 11; // c0 … c10; c11 is for the others
const ALIVE_ROWS = { workspace: 60, other: 6 }; // of a table before "more"

class MemoryView extends PictureView {
  constructor(section, data) {
    super(section);
    this.noun = "buffers";
    this.data = data;
    this.bufferOf = this.indexNames();
    this.texts = data.buffers.map((buffer) => this.searchText(buffer));
    this.chart = this.makeChart(this.model());
    this.chart.onmove = () => this.showAlive();
    this.listen();
    this.listenMore();
    this.addTiles();
    this.addTrackChoices();
    this.paintLegend("kind");
    this.fit();
    this.choose(null);
    this.chart.setPosition(this.peak() ?? this.chart.model.start);
  }

  /* ---- the data as a model of a Chart ---- */

  /* Of every value and instruction, and of what is inside fusions, the number of its buffer. */
  indexNames() {
    const names = new Map();
    this.data.buffers.forEach((buffer, number) => {
      for (const value of buffer.values) names.set(value.name, number);
    });
    const made = new Map(names);
    this.data.buffers.forEach((buffer, number) => {
      for (const value of buffer.values) {
        const plain = value.name.replace(/\{[\d,]*\}$/, "");
        if (!names.has(plain)) names.set(plain, number);
      }
    });
    for (const [name, , inside] of this.data.steps) {
      const number = names.get(name);
      if (number !== undefined) for (const fused of inside) if (!made.has(fused)) names.set(fused, number);
    }
    return names;
  }

  searchText(buffer) {
    const texts = [buffer.name, buffer.kind, buffer.why];
    for (const value of buffer.values) {
      texts.push(value.name, value.opcode, value.shape, value.source);
      for (const life of value.lives) texts.push(...(this.step(life[0], value)?.[2] ?? []));
    }
    return texts.join("\n").toLowerCase();
  }

  /* The instruction at a position if it is the one that makes |value|. */
  step(position, value) {
    const step = this.data.steps[position - this.data.begin];
    return step && value.name.startsWith(step[0]) ? step : null;
  }

  model() {
    const regions = this.data.regions, boxes = [];
    this.hasCurve = this.data.buffers.some((buffer) => buffer.region === 0);
    const tracks = this.hasCurve ? [this.curveTrack(regions[0])] : [];
    this.trackOf = regions.map((region) => {
      if (region.size === 0) return -1;
      tracks.push(this.regionTrack(region, regions.indexOf(region)));
      return tracks.length - 1;
    });
    this.data.buffers.forEach((buffer, item) => this.addBoxes(boxes, buffer, item));
    this.boxesOf = this.data.buffers.map(() => []); // those of values
    for (const box of boxes) if (box.value) this.boxesOf[box.item].push(box);
    const start = this.data.begin, end = start + Math.max(this.data.length, 1);
    return { start, end, unit: this.data.unit, tracks, boxes, edges: this.edges(boxes) };
  }

  regionTrack(region, number) {
    const lines = region.bound > 0 && region.bound < region.size ? [{ value: region.bound, colour: "bound" }] : [];
    const count = this.data.buffers.filter((buffer) => buffer.region === number).length;
    return {
      name: region.name, note: `${bytesText(region.size)}, ${grouped(count)} buffer${count === 1 ? "" : "s"}`,
      low: 0, high: region.size, weight: number === 0 ? 7 : 1.2, unit: bytesText, lines,
      parts: region.parts.slice(1).map(([start, name]) => ({ start, name })),
    };
  }

  curveTrack(region) {
    const curve = this.curve(0), [time, value] = curve.reduce((best, step) => (step[1] > best[1] ? step : best), [0, 0]);
    const bound = region.bound >= 0 ? region.bound : value, isReached = region.size <= bound;
    const lines = [{ value: bound, colour: "bound" }];
    if (!isReached) lines.push({ value: region.size, colour: "accent" });
    const placed = isReached ? "reached" : `placed in ${bytesText(region.size)}, ${((100 * region.size) / bound).toFixed(1)} % of it`;
    return {
      name: `live bytes of the ${region.name}`, choice: "live bytes", low: 0, high: Math.max(region.size, value, 1), weight: 1.6, unit: bytesText, curve, lines,
      note: `peak ${bytesText(value)} at ${this.positionText(time)}; lower bound ${bytesText(bound)}, ${placed}`,
      dots: [{ time, value, text: "peak" }],
    };
  }

  /* Bytes that are alive in a region, as steps. */
  curve(region) {
    const changes = new Map();
    const add = (time, bytes) => changes.set(time, (changes.get(time) ?? 0) + bytes);
    for (const buffer of this.data.buffers) {
      if (buffer.region !== region) continue;
      for (const [from, to] of buffer.lives) { add(from, buffer.size); add(to, -buffer.size); }
    }
    let sum = 0;
    return [...changes].sort((a, b) => a[0] - b[0]).map(([time, change]) => [time, (sum += change)]);
  }

  /* A faint box for each stretch of a buffer's life, on it one for each value. */
  addBoxes(boxes, buffer, item) {
    const track = this.trackOf[buffer.region], hatched = buffer.kind === "scratch";
    if (track < 0) return;
    const low = buffer.offset, base = { track, item, low, colour: "c11", hatched };
    for (const [from, to] of buffer.lives)
      boxes.push({ ...base, from, to, high: low + buffer.size, text: buffer.name, faint: true, value: null });
    for (const value of buffer.values)
      for (const [from, to] of value.lives)
        boxes.push({ ...base, from, to, high: low + value.bytes, text: value.name.replace(/^scratch of /, ""), faint: false, value });
  }

  /* From every value to what the instructions that read it make. */
  edges(boxes) {
    const made = new Map(), edges = [];
    boxes.forEach((box, number) => {
      if (!box.value || box.hatched) return;
      if (!made.has(box.from)) made.set(box.from, []);
      made.get(box.from).push(number);
    });
    boxes.forEach((box, number) => {
      if (!box.value || box.hatched) return;
      for (const reader of box.value.readers)
        for (const to of made.get(reader) ?? [])
          if (this.step(reader, boxes[to].value)) edges.push({ from: number, to });
    });
    return edges;
  }

  /* ---- colours ---- */

  /* What a box is called in a legend; null: nothing. */
  colourKey(mode, box) {
    const buffer = this.data.buffers[box.item], value = box.value ?? buffer.values[0];
    if (mode === "kind") return buffer.kind;
    if (mode === "opcode") return value.opcode;
    return value.opcode === "fusion" ? value.name.replace(/^scratch of /, "").replace(/\{[\d,]*\}$/, "") : null;
  }

  /* Keys, those first that take most bytes for the longest time. */
  weightiest(mode) {
    const weights = new Map();
    for (const box of this.chart.model.boxes) {
      const key = this.colourKey(mode, box);
      if (key !== null && !box.faint) weights.set(key, (weights.get(key) ?? 0) + (box.high - box.low) * (box.to - box.from));
    }
    return [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a) || (a < b ? -1 : 1));
  }

  /* Key → colour: kinds have theirs, of opcodes the weightiest; fusions, of which there are many, in turn. */
  chooseColours(mode) {
    if (mode === "kind") return this.weightiest(mode).map((key) => [key, KIND_COLOURS[key] ?? "c11"]);
    if (mode === "opcode") return this.weightiest(mode).map((key, place) => [key, place < COLOUR_COUNT ? "c" + place : "c11"]);
    const keys = new Set(this.data.steps.filter(([, opcode]) => opcode === "fusion").map(([name]) => name));
    return [...keys].map((key, place) => [key, "c" + (place % COLOUR_COUNT)]);
  }

  paintLegend(mode) {
    const chosen = this.chooseColours(mode), colours = new Map(chosen);
    for (const box of this.chart.model.boxes) box.colour = colours.get(this.colourKey(mode, box)) ?? "c11";
    const named = chosen.filter(([, colour]) => colour !== "c11"), isInTurn = mode === "fusion" && named.length > COLOUR_COUNT;
    const entries = isInTurn ? [element("span", { text: `${named.length} fusions, the colours in turn` })]
      : named.map(([key, colour]) => legendEntry(key, colour, key === "scratch"));
    if (mode === "fusion") entries.push(legendEntry("no fusion", "c11"));
    else if (named.length < chosen.length) entries.push(legendEntry(`${chosen.length - named.length} others`, "c11"));
    this.part("legend").replaceChildren(...entries);
    this.chart.invalidate();
    if (this.chart.position !== null) this.showAlive();
  }

  swatch(item) {
    const box = this.boxesOf[item][0];
    return swatch(box ? box.colour : "c11", this.data.buffers[item].kind === "scratch");
  }

  /* ---- texts ---- */

  positionText(position) {
    const step = this.data.steps[position - this.data.begin];
    return `${this.data.unit} ${position}` + (step ? `, ${step[0]}` : "");
  }

  lifeText(lives) {
    return lives.map(([from, to]) => (to - from === 1 ? `${from}` : `${from} … ${to - 1}`)).join(", ");
  }

  /* "argument 3 [0, 256)" */
  placeText(buffer) {
    const region = this.data.regions[buffer.region];
    let [start, name] = [0, region.name];
    for (const part of region.parts) if (part[0] <= buffer.offset) [start, name] = part;
    return `${name} [${grouped(buffer.offset - start)}, ${grouped(buffer.offset - start + buffer.size)})`;
  }

  /* Names and texts of what is known of a buffer, of one of its values before others. */
  facts(buffer, value) {
    const facts = [];
    const add = (name, text) => { if (text) facts.push([name, text]); };
    add("shape", value?.shape);
    add("opcode", value?.opcode);
    const bytes = value ? value.bytes : buffer.size;
    add("bytes", grouped(bytes) + (bytes < 1024 ? "" : ` (${bytesText(bytes)})`));
    add("alive", this.lifeText(value ? value.lives : buffer.lives));
    add("lies in", this.placeText(buffer));
    add("kind", buffer.kind);
    if (buffer.why !== buffer.kind) add("why here", buffer.why);
    add("source", value?.source);
    return facts;
  }

  /* What is told of what is pointed at. */
  tipOf(box) {
    const buffer = this.data.buffers[box.item], value = box.value ?? buffer.values[0];
    return [value ? value.name : buffer.name, this.facts(buffer, value)];
  }

  /* ---- one buffer ---- */

  /* Chooses a buffer by its number, null: none. */
  choose(item, box = null) {
    this.chart.selected = item;
    this.chart.invalidate();
    const details = this.part("details");
    if (item === null) {
      details.replaceChildren(element("h3", { text: "no buffer chosen" }),
        element("p", { class: "soft", text: "Click on one in the picture or in a table, or search for it." }));
    } else {
      const buffer = this.data.buffers[item], value = box?.value ?? buffer.values[0];
      details.replaceChildren(...this.detailsOf(buffer, value));
    }
    for (const row of this.part("alive").querySelectorAll("tr[data-item]"))
      row.classList.toggle("chosen", Number(row.dataset.item) === item);
  }

  detailsOf(buffer, value) {
    const rows = this.facts(buffer, value).map(([name, text]) =>
      element("tr", {}, element("th", { text: name }), element("td", { text })));
    const readers = value ? value.readers.map((position) => this.data.steps[position - this.data.begin]?.[0]).filter(Boolean) : [];
    if (readers.length > 0) rows.push(this.namesRow("read by", readers));
    const inside = value ? this.step(value.lives[0][0], value)?.[2] ?? [] : [];
    if (inside.length > 0) rows.push(element("tr", {}, element("th", { text: "made of" }), element("td", { text: inside.slice(0, 40).join(" ") + (inside.length > 40 ? ` and ${inside.length - 40} more` : "") })));
    const others = buffer.values.filter((other) => other !== value);
    if (others.length > 0) rows.push(element("tr", {}, element("th", { text: "shares with" }), element("td", {}, this.sharing(others))));
    const mentions = window.pageTables ? window.pageTables.count(value ? [value.name, ...inside] : []) : 0;
    const link = mentions === 0 ? null : element("button", { text: `${mentions} row${mentions === 1 ? "" : "s"} in the tables below`,
      onclick: () => window.pageTables.show(value.name, inside) });
    return [element("h3", { text: value ? value.name : buffer.name }), element("table", { class: "facts" }, ...rows), link].filter(Boolean);
  }

  namesRow(title, names) {
    const cell = element("td");
    for (const name of names.slice(0, 24)) cell.append(this.link(name), " ");
    if (names.length > 24) cell.append(`and ${names.length - 24} more`);
    return element("tr", {}, element("th", { text: title }), cell);
  }

  sharing(values) {
    const list = element("ul");
    for (const value of values.slice(0, 24)) list.append(element("li", { text: `${value.name} ${value.shape}, alive ${this.lifeText(value.lives)}` }));
    if (values.length > 24) list.append(element("li", { text: `${values.length - 24} more` }));
    return list;
  }

  /* A name that leads to its buffer, or just the name. */
  link(name) {
    if (!this.bufferOf.has(name)) return element("span", { text: name });
    return element("button", { class: "link", text: name, onclick: () => this.show(name) });
  }

  /* Chooses what |name| is in, moves the picture there and the page to the picture; false: it has no buffer. */
  show(name) {
    const item = this.bufferOf.get(name);
    if (item === undefined) return false;
    this.goTo(item, (value) => value.name === name);
    this.section.scrollIntoView({ block: "start" });
    return true;
  }

  goTo(item, isMeant = () => true) {
    const buffer = this.data.buffers[item], boxes = this.boxesOf[item];
    const box = boxes.find((one) => isMeant(one.value)) ?? boxes[0] ?? null;
    const position = box ? box.from : buffer.lives[0]?.[0] ?? 0;
    this.part("tip").hidden = true;
    this.chart.reveal(position, box ? box.to : position + 1);
    this.chart.setPosition(position);
    this.choose(item, box);
  }

  /* ---- what is alive ---- */

  aliveAt(position) {
    return this.data.buffers.map((buffer, item) => item).filter((item) =>
      this.data.buffers[item].lives.some(([from, to]) => from <= position && position < to));
  }

  showAlive() {
    const position = this.chart.position, alive = this.aliveAt(position), panel = this.part("alive");
    const table = element("table", {}, element("thead", {}, element("tr", {},
      ...["", "bytes", "name", "shape", "kind", "alive"].map((text) => element("th", { text })))));
    this.data.regions.forEach((region, number) => {
      const items = alive.filter((item) => this.data.buffers[item].region === number);
      if (items.length > 0) table.append(this.aliveGroup(region, number, items, position));
    });
    panel.replaceChildren(element("h3", { text: `alive at ${this.positionText(position)}` }),
      alive.length > 0 ? table : element("p", { class: "soft", text: "Nothing." }));
  }

  aliveGroup(region, number, items, position, limit = number === 0 ? ALIVE_ROWS.workspace : ALIVE_ROWS.other) {
    const buffers = this.data.buffers, sum = items.reduce((bytes, item) => bytes + buffers[item].size, 0);
    items.sort((a, b) => buffers[b].size - buffers[a].size || a - b);
    const head = element("tr", { class: "head" }, element("th"), element("th", { class: "number", text: grouped(sum) }),
      element("th", { colspan: "4", text: `${region.name}: ${items.length} buffer${items.length === 1 ? "" : "s"}, ${bytesText(sum)}` }));
    const group = element("tbody", {}, head, ...items.slice(0, limit).map((item) => this.aliveRow(item, position)));
    if (items.length > limit) {
      const more = element("button", { class: "link", text: `${items.length - limit} more`,
        onclick: () => group.replaceWith(this.aliveGroup(region, number, items, position, Infinity)) });
      group.append(element("tr", {}, element("td"), element("td", { colspan: "5" }, more)));
    }
    return group;
  }

  aliveRow(item, position) {
    const buffer = this.data.buffers[item];
    const holds = ([from, to]) => from <= position && position < to;
    const value = buffer.values.filter((one) => one.lives.some(holds)).pop() ?? buffer.values[0];
    const box = this.boxesOf[item].find((one) => one.value === value);
    const chosen = item === this.chart.selected ? "chosen" : "";
    return element("tr", { "data-item": item, class: chosen, onclick: () => this.choose(item, box) },
      element("td", {}, this.swatch(item)), element("td", { class: "number", text: grouped(buffer.size) }),
      element("td", {}, element("button", { class: "link", text: value ? value.name : buffer.name })),
      element("td", { text: value ? value.shape : "" }), element("td", { class: "short", text: buffer.kind }),
      element("td", { class: buffer.lives.length > 1 ? "" : "short", text: this.lifeText(buffer.lives) }));
  }

  /* ---- tools ---- */

  addTiles() {
    const shown = this.data.regions.filter((region, number) => region.size > 0 || number === 0);
    const tiles = shown.map((region) => tile(region.name, bytesText(region.size), region.note));
    if (this.hasCurve) {
      const { bound, size } = this.data.regions[0];
      if (bound > 0) tiles.splice(1, 0, tile("lower bound", bytesText(bound), size <= bound ? "reached" : `placed in ${((100 * size) / bound).toFixed(1)} % of it`));
    }
    this.part("tiles").replaceChildren(...tiles);
    if (this.data.regions[0]?.size === 0)
      this.part("tiles").after(element("p", { class: "note", text: `Nothing is in the ${this.data.regions[0].name}: all there is lies in what the picture shows.` }));
    this.part("fit").hidden = !this.hasCurve || this.data.regions.length === 1;
  }

  /* The position of the peak in the first region; null: there is nothing in it. */
  peak() {
    if (!this.hasCurve) return null;
    return this.chart.model.tracks[0].dots[0].time;
  }

  /* To when anything lives in the first region, or all. */
  fit() {
    const lives = this.data.buffers.filter((buffer) => buffer.region === 0).flatMap((buffer) => buffer.lives);
    if (lives.length === 0) { this.chart.fit(); return; }
    this.chart.fit(lives.reduce((least, [from]) => Math.min(least, from), Infinity),
                   lives.reduce((most, [, to]) => Math.max(most, to), 0));
  }

  /* Items by region, there in order of time. */
  inOrder(items) {
    const buffers = this.data.buffers, start = (item) => buffers[item].lives[0]?.[0] ?? 0;
    return items.sort((a, b) => buffers[a].region - buffers[b].region || start(a) - start(b) || a - b);
  }

  /* The next buffer above or below the chosen one among those alive in the region of both. */
  neighbour(step) {
    const { buffers } = this.data, alive = this.aliveAt(this.chart.position);
    alive.sort((a, b) => buffers[a].region - buffers[b].region || buffers[a].offset - buffers[b].offset);
    if (alive.length === 0) return;
    const place = alive.indexOf(this.chart.selected);
    const next = alive[place < 0 ? (step > 0 ? 0 : alive.length - 1) : Math.min(Math.max(place + step, 0), alive.length - 1)];
    const box = this.boxesOf[next].find((one) => one.from <= this.chart.position && this.chart.position < one.to);
    this.choose(next, box ?? null);
  }

  listenMore() {
    this.part("colours").closest("label").hidden = !this.data.buffers.some((buffer) => buffer.values.some((value) => value.opcode));
    this.part("fit").onclick = () => this.fit();
  }

  moreKeys(event) {
    const move = (by) => {
      this.chart.setPosition(this.chart.position + by);
      this.chart.reveal(this.chart.position);
    };
    const far = event.shiftKey ? 10 : 1;
    return {
      ArrowLeft: () => move(-far), ArrowRight: () => move(far), Home: () => move(-Infinity), End: () => move(Infinity),
      ArrowUp: () => this.neighbour(1), ArrowDown: () => this.neighbour(-1),
      f: () => this.fit(), p: () => { if (this.peak() !== null) move(this.peak() - this.chart.position); },
    };
  }
}

{
  const data = document.getElementById("memory-data");
  if (data) window.memoryView = new MemoryView(document.getElementById("memory"), JSON.parse(data.textContent));
}
