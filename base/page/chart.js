"use strict";

/* Chart: rectangles in time × address on a canvas, in tracks above one another that share the time axis.  It knows
 * nothing of buffers or commands; whoever has such things says what they are as a model:
 *
 *   model  {start, end, unit, tracks, boxes, edges, continuous}: times are integers, half-open; continuous: any numbers,
 *            so that a time is a point and no column
 *   track  {name, note, low, high, weight, unit, curve, lines, parts}
 *            low..high: addresses; weight: its share of the height; unit(address): the address as text
 *            curve: [[time, value], …], steps that are drawn in place of boxes, with dots: [{time, value, text}]
 *            lines: [{value, text}], horizontal; parts: [{start, name}], where something else begins
 *   box    {track, from, to, low, high, item, colour, text, hatched, faint}; item: a number, whose boxes are one thing;
 *            faint: true, or a number for how little
 *   edge   {from, to}: numbers of boxes; shown while one of them belongs to what is pointed at
 *
 * What the reader does is told by calls: onhover(box, x, y), onpick(box), onmove(position). */

const CHART = { gutter: 92, right: 14, axis: 24, head: 18, gap: 10, columns: 128, tolerance: 3 };

/* Which boxes may lie at a time: for every track and each of some columns of time, their numbers in order. */
class BoxIndex {
  constructor(model) {
    this.start = model.start;
    this.width = Math.max((model.end - model.start) / CHART.columns, 1e-9);
    this.cells = model.tracks.map(() => Array.from({ length: CHART.columns }, () => []));
    model.boxes.forEach((box, number) => {
      for (let column = this.column(box.from); column <= this.column(box.to - 1e-9); column++)
        this.cells[box.track][column].push(number);
    });
  }

  column(time) {
    return Math.min(Math.max(Math.floor((time - this.start) / this.width), 0), CHART.columns - 1);
  }

  /* Numbers of boxes of a track that may touch times from … to, the topmost first. */
  *near(track, from, to) {
    for (let column = this.column(to); column >= this.column(from); column--)
      for (let i = this.cells[track][column].length - 1; i >= 0; i--) yield this.cells[track][column][i];
  }
}

class Chart {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.pending = false;
    this.setModel(model);
    this.onhover = this.onpick = this.onmove = () => {};
    this.listen();
    new ResizeObserver(() => this.invalidate()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.invalidate());
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
  }

  /* Shows another model, all of it. */
  setModel(model) {
    this.model = model;
    this.index = new BoxIndex(model);
    this.time = { from: model.start, to: model.end };
    this.spans = model.tracks.map((track) => ({ low: track.low, high: track.high }));
    this.hidden = new Set(); // numbers of tracks
    this.position = null;
    this.hovered = null; // a box
    this.selected = null; // an item
    this.matches = null; // a Set of items; the others are dim
    this.invalidate();
  }

  /* ---- where things are ---- */

  /* The rectangle of every visible track, in CSS pixels of the canvas. */
  layout(width, height) {
    const shown = this.model.tracks.map((track, number) => number).filter((number) => !this.hidden.has(number));
    const weight = shown.reduce((sum, number) => sum + this.model.tracks[number].weight, 0);
    const free = height - CHART.axis - shown.length * (CHART.head + CHART.gap);
    let top = 0;
    return shown.map((number) => {
      const share = (free * this.model.tracks[number].weight) / weight;
      const area = { number, left: CHART.gutter, top: top + CHART.head, width: width - CHART.gutter - CHART.right, height: share };
      top += CHART.head + share + CHART.gap;
      return area;
    });
  }

  areas() {
    return this.layout(this.canvas.clientWidth, this.canvas.clientHeight);
  }

  x(area, time) {
    return area.left + ((time - this.time.from) / (this.time.to - this.time.from)) * area.width;
  }

  y(area, address) {
    const span = this.spans[area.number];
    return area.top + area.height - ((address - span.low) / (span.high - span.low)) * area.height;
  }

  timeAt(area, x) {
    return this.time.from + ((x - area.left) / area.width) * (this.time.to - this.time.from);
  }

  addressAt(area, y) {
    const span = this.spans[area.number];
    return span.low + ((area.top + area.height - y) / area.height) * (span.high - span.low);
  }

  areaAt(y) {
    return this.areas().find((area) => y >= area.top && y < area.top + area.height);
  }

  /* At least a pixel wide and high, so that nothing vanishes. */
  rectangle(area, box) {
    const left = this.x(area, box.from), right = this.x(area, box.to);
    const top = this.y(area, box.high), bottom = this.y(area, box.low);
    return { left, top, width: Math.max(right - left, 1), height: Math.max(bottom - top, 1) };
  }

  /* The topmost box there, or one within a few pixels; null: none. */
  hit(x, y) {
    const area = this.areaAt(y);
    if (!area || x < area.left || x > area.left + area.width) return null;
    for (const tolerance of [0, CHART.tolerance]) {
      const from = this.timeAt(area, x - tolerance), to = this.timeAt(area, x + tolerance);
      for (const number of this.index.near(area.number, from, to)) {
        const box = this.model.boxes[number], r = this.rectangle(area, box);
        if (x >= r.left - tolerance && x <= r.left + r.width + tolerance &&
            y >= r.top - tolerance && y <= r.top + r.height + tolerance) return box;
      }
    }
    return null;
  }

  /* ---- what is shown ---- */

  setTime(from, to) {
    const whole = this.model.end - this.model.start;
    const length = Math.min(Math.max(to - from, Math.min(2, whole)), whole);
    const start = Math.min(Math.max(from, this.model.start), this.model.end - length);
    this.time = { from: start, to: start + length };
    this.invalidate();
  }

  setSpan(number, low, high) {
    const track = this.model.tracks[number], whole = track.high - track.low;
    const length = Math.min(Math.max(high - low, whole / 1e6), whole);
    const start = Math.min(Math.max(low, track.low), track.high - length);
    this.spans[number] = { low: start, high: start + length };
    this.invalidate();
  }

  /* By |factor| around a time; below 1: closer. */
  zoomTime(factor, around = (this.time.from + this.time.to) / 2) {
    this.setTime(around - (around - this.time.from) * factor, around + (this.time.to - around) * factor);
  }

  zoomSpan(number, factor, around) {
    const span = this.spans[number];
    this.setSpan(number, around - (around - span.low) * factor, around + (span.high - around) * factor);
  }

  /* All of the time, or from … to with a margin; all addresses. */
  fit(from = this.model.start, to = this.model.end) {
    this.model.tracks.forEach((track, number) => { this.spans[number] = { low: track.low, high: track.high }; });
    const margin = from === this.model.start && to === this.model.end ? 0 : (to - from) * 0.02;
    this.setTime(from - margin, to + margin);
  }

  /* Moves the picture as little as needed for times |from| … |to| to be in it, or their beginning. */
  reveal(from, to = from + 1) {
    const length = this.time.to - this.time.from;
    if (to > this.time.to) this.setTime(to - length, to);
    if (from < this.time.from) this.setTime(from, from + length);
  }

  setPosition(position) {
    this.position = Math.min(Math.max(position, this.model.start), this.model.end - 1);
    this.invalidate();
    this.onmove(this.position);
  }

  /* ---- what the reader does ---- */

  listen() {
    let drag = null;
    const at = (event) => {
      const edge = this.canvas.getBoundingClientRect();
      return { x: event.clientX - edge.left, y: event.clientY - edge.top };
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      const { x, y } = at(event), area = this.areaAt(y);
      drag = { x, y, area, time: { ...this.time }, span: area && { ...this.spans[area.number] }, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const { x, y } = at(event);
      if (drag) this.dragTo(drag, x, y);
      else this.hover(this.hit(x, y), x, y);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const { x, y } = at(event);
      if (drag && !drag.moved) this.pick(x, y);
      drag = null;
    });
    this.canvas.addEventListener("pointercancel", () => { drag = null; });
    this.canvas.addEventListener("pointerleave", () => this.hover(null, 0, 0));
    this.canvas.addEventListener("dblclick", (event) => {
      const box = this.hit(at(event).x, at(event).y);
      if (box) this.zoomTo(box);
    });
    // The page scrolls with the wheel unless the picture has the focus.
    this.canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== this.canvas && !event.ctrlKey) return;
      event.preventDefault();
      const { x, y } = at(event), area = this.areaAt(y) || this.areas()[0];
      const factor = Math.exp(Math.sign(event.deltaY || event.deltaX) * 0.2);
      if (event.shiftKey) this.zoomSpan(area.number, factor, this.addressAt(area, y));
      else this.zoomTime(factor, this.timeAt(area, x));
    }, { passive: false });
  }

  dragTo(drag, x, y) {
    if (Math.hypot(x - drag.x, y - drag.y) > 4) drag.moved = true;
    if (!drag.moved || !drag.area) return;
    const { area, time, span } = drag;
    const shift = ((drag.x - x) / area.width) * (time.to - time.from);
    const climb = ((y - drag.y) / area.height) * (span.high - span.low);
    this.setTime(time.from + shift, time.to + shift);
    this.setSpan(area.number, span.low + climb, span.high + climb);
  }

  hover(box, x, y) {
    if (box !== this.hovered) this.invalidate();
    this.hovered = box;
    this.canvas.style.cursor = box ? "pointer" : "crosshair";
    this.onhover(box, x, y);
  }

  pick(x, y) {
    const area = this.areas()[0];
    if (area && x >= area.left && x <= area.left + area.width) this.setPosition(Math.floor(this.timeAt(area, x)));
    this.onpick(this.hit(x, y));
  }

  zoomTo(box) {
    const length = box.to - box.from, height = box.high - box.low;
    this.setTime(box.from - length, box.to + length);
    this.setSpan(box.track, box.low - height, box.high + height);
  }

  /* ---- painting ---- */

  invalidate() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.paint(this.canvas.clientWidth, this.canvas.clientHeight, devicePixelRatio || 1);
    });
  }

  /* Paper is light, and finer than a screen. */
  print(begins) {
    this.canvas.classList.toggle("light", begins);
    if (begins) this.hover(null, 0, 0);
    if (begins) this.paint(1040, 480, 3);
    else this.invalidate();
  }

  paint(width, height, scale) {
    if (width <= 0 || height <= 0) return;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const context = this.canvas.getContext("2d"), css = getComputedStyle(this.canvas);
    context.scale(scale, scale);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const styles = new Map();
    this.style = (name) => {
      if (!styles.has(name)) styles.set(name, css.getPropertyValue("--" + name).trim());
      return styles.get(name);
    };
    this.hatch = this.hatching(context);
    const areas = this.layout(width, height);
    for (const area of areas) this.paintTrack(context, area);
    if (areas.length > 0) this.paintAxis(context, areas[0], height);
    this.paintEdges(context, areas);
  }

  hatching(context) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const lines = tile.getContext("2d");
    lines.strokeStyle = this.style("hatch");
    lines.beginPath();
    for (const shift of [-6, 0, 6]) { lines.moveTo(shift, 6); lines.lineTo(shift + 6, 0); }
    lines.stroke();
    return context.createPattern(tile, "repeat");
  }

  paintTrack(context, area) {
    const track = this.model.tracks[area.number];
    context.fillStyle = this.style("text");
    context.textAlign = "left";
    context.font = "600 11px system-ui, sans-serif";
    context.fillText(track.name, area.left, area.top - CHART.head / 2);
    const after = area.left + context.measureText(track.name).width + 10;
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = this.style("soft");
    context.fillText(this.shortened(context, track.note, area.left + area.width - after), after, area.top - CHART.head / 2);
    this.paintAddresses(context, area, track);
    context.save();
    context.beginPath();
    context.rect(area.left, area.top, area.width, area.height);
    context.clip();
    context.fillStyle = this.style("field");
    context.fillRect(area.left, area.top, area.width, area.height);
    if (track.curve) this.paintCurve(context, area, track);
    else this.paintBoxes(context, area, track);
    this.paintPosition(context, area);
    context.restore();
    for (const dot of track.dots || []) this.paintDot(context, area, dot);
    for (const line of track.lines || []) this.paintLine(context, area, line);
    context.strokeStyle = this.style("line");
    context.strokeRect(area.left - 0.5, area.top - 0.5, area.width + 1, area.height + 1);
  }

  /* At multiples of a power of two, and where the track ends. */
  paintAddresses(context, area, track) {
    const { low, high } = this.spans[area.number], room = Math.max(Math.floor(area.height / 36), 1);
    const step = 2 ** Math.max(Math.ceil(Math.log2((high - low) / room)), 0);
    context.textAlign = "right";
    context.fillStyle = this.style("soft");
    const say = (address) => context.fillText(track.unit(address), area.left - 6,
      Math.min(Math.max(this.y(area, address), area.top + 5), area.top + area.height - 5));
    if (high === track.high) say(high);
    for (let address = Math.ceil(low / step) * step; address <= high; address += step)
      if (high !== track.high || this.y(area, address) - area.top > 14) say(address);
  }

  paintBoxes(context, area, track) {
    const shown = [];
    for (const box of this.model.boxes) {
      if (box.track !== area.number || box.to <= this.time.from || box.from >= this.time.to) continue;
      const r = this.rectangle(area, box);
      if (r.top > area.top + area.height || r.top + r.height < area.top) continue;
      this.paintBox(context, box, r);
      if (!box.faint) shown.push([box, r]);
    }
    this.paintParts(context, area, track);
    shown.forEach(([box], number) => this.paintLabel(context, area, box, this.uncovered(shown, number)));
    for (const box of this.outlined(area.number)) {
      const r = this.rectangle(area, box);
      context.strokeStyle = this.style("text");
      context.lineWidth = 2;
      context.strokeRect(r.left, r.top, r.width, r.height);
      context.lineWidth = 1;
    }
  }

  /* The rectangle of box |number| up to where a later one of its item covers its middle: that one has its own label. */
  uncovered(shown, number) {
    const [box, r] = shown[number], middle = r.top + r.height / 2;
    let right = r.left + r.width;
    for (let next = number + 1; next < shown.length && shown[next][0].item === box.item; next++) {
      const over = shown[next][1];
      if (over.left > r.left && over.top <= middle && over.top + over.height >= middle) right = Math.min(right, over.left);
    }
    return { ...r, width: right - r.left };
  }

  outlined(track) {
    const item = this.hovered ? this.hovered.item : null;
    return this.model.boxes.filter((box) => box.track === track && (box.item === item || box.item === this.selected));
  }

  paintBox(context, box, r) {
    const dim = this.matches && !this.matches.has(box.item);
    context.globalAlpha = (box.faint === true ? 0.35 : box.faint || 1) * (dim ? 0.15 : 1);
    context.fillStyle = this.style(box.colour);
    context.fillRect(r.left, r.top, r.width, r.height);
    if (box.hatched) {
      context.fillStyle = this.hatch;
      context.fillRect(r.left, r.top, r.width, r.height);
    }
    // A gap of the background's colour keeps neighbours apart.
    if (r.width > 3 && r.height > 3) {
      context.strokeStyle = this.style("field");
      context.strokeRect(r.left, r.top, r.width, r.height);
    }
    context.globalAlpha = 1;
  }

  paintParts(context, area, track) {
    if (!track.parts || track.parts.length > area.height / 3) return;
    context.strokeStyle = this.style("line");
    context.beginPath();
    for (const part of track.parts) {
      const y = Math.round(this.y(area, part.start)) + 0.5;
      context.moveTo(area.left, y);
      context.lineTo(area.left + area.width, y);
    }
    context.stroke();
  }

  paintLabel(context, area, box, r) {
    const left = Math.max(r.left, area.left), right = Math.min(r.left + r.width, area.left + area.width);
    const top = Math.max(r.top, area.top), bottom = Math.min(r.top + r.height, area.top + area.height);
    if (right - left < 46 || bottom - top < 13 || (this.matches && !this.matches.has(box.item))) return;
    context.save();
    context.beginPath();
    context.rect(left + 2, top, right - left - 5, bottom - top);
    context.clip();
    context.fillStyle = this.style("label");
    context.textAlign = "left";
    context.fillText(this.shortened(context, box.text, right - left - 9), left + 5, (top + bottom) / 2);
    context.restore();
  }

  /* |text| without its middle if it is wider than |width|: names differ in their ends. */
  shortened(context, text, width) {
    const full = context.measureText(text).width;
    if (full <= width) return text;
    const kept = Math.max(Math.floor((text.length * width) / full) - 2, 1), end = Math.ceil(kept / 2);
    return text.slice(0, kept - end) + "\u2026" + text.slice(text.length - end);
  }

  paintCurve(context, area, track) {
    context.beginPath();
    context.moveTo(area.left, this.y(area, track.low));
    let last = track.low;
    for (const [time, value] of track.curve) {
      context.lineTo(this.x(area, time), this.y(area, last));
      context.lineTo(this.x(area, time), this.y(area, value));
      last = value;
    }
    context.lineTo(this.x(area, this.model.end), this.y(area, last));
    context.lineTo(this.x(area, this.model.end), this.y(area, track.low));
    context.fillStyle = this.style("curve");
    context.fill();
    context.strokeStyle = this.style("accent");
    context.stroke();
  }

  /* With its word on a border of the background's colour, since it lies on other lines. */
  paintDot(context, area, dot) {
    const x = this.x(area, dot.time + 0.5), y = this.y(area, dot.value);
    if (x < area.left || x > area.left + area.width) return;
    const fits = x + 12 + context.measureText(dot.text).width < area.left + area.width;
    context.textAlign = fits ? "left" : "right";
    context.strokeStyle = this.style("field");
    context.lineWidth = 4;
    context.strokeText(dot.text, fits ? x + 8 : x - 8, y + 12);
    context.lineWidth = 1;
    context.fillStyle = this.style("text");
    context.fillText(dot.text, fits ? x + 8 : x - 8, y + 12);
    context.fillStyle = this.style("bound");
    context.beginPath();
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.fill();
  }

  paintLine(context, area, line) {
    const y = Math.round(this.y(area, line.value)) + 0.5;
    if (y < area.top - 1 || y > area.top + area.height) return;
    context.strokeStyle = this.style(line.colour);
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(area.left, y);
    context.lineTo(area.left + area.width, y);
    context.stroke();
    context.setLineDash([]);
  }

  paintPosition(context, area) {
    if (this.position === null) return;
    const left = this.x(area, this.position), width = Math.max(this.x(area, this.position + 1) - left, 1);
    context.fillStyle = this.style("cursor");
    context.fillRect(left, area.top, width, area.height);
    context.fillStyle = this.style("accent");
    context.fillRect(left, area.top, 1, area.height);
  }

  paintAxis(context, area, height) {
    const length = this.time.to - this.time.from, top = height - CHART.axis;
    const rough = length / Math.max(area.width / 80, 1), power = 10 ** Math.floor(Math.log10(rough));
    const step = Math.max([1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough), 1);
    context.fillStyle = context.strokeStyle = this.style("soft");
    context.textAlign = "center";
    for (let time = Math.ceil(this.time.from / step) * step; time < this.time.to; time += step) {
      const x = this.x(area, this.model.continuous ? time : time + 0.5);
      if (x > area.left + area.width) break;
      context.beginPath();
      context.moveTo(x, top - 4);
      context.lineTo(x, top);
      context.stroke();
      context.fillText(grouped(time), x, top + 9);
    }
    context.textAlign = "left";
    context.fillText(this.model.unit, 8, top + 9);
  }

  paintEdges(context, areas) {
    const near = (box) => box.item === this.selected || (this.hovered && box.item === this.hovered.item);
    context.strokeStyle = this.style("accent");
    context.lineWidth = 1.2;
    for (const edge of this.model.edges) {
      const from = this.model.boxes[edge.from], to = this.model.boxes[edge.to];
      const start = areas.find((area) => area.number === from.track), end = areas.find((area) => area.number === to.track);
      if (!start || !end || !(near(from) || near(to))) continue;
      this.paintEdge(context, start, this.rectangle(start, from), this.rectangle(end, to));
    }
    context.lineWidth = 1;
  }

  /* From where |from| ends, or where it is when |to| begins, to the beginning of |to|, between their nearest borders. */
  paintEdge(context, area, from, to) {
    const end = to.left + Math.min(4, to.width / 2), start = Math.min(from.left + from.width, end);
    if (end < area.left || start > area.left + area.width) return;
    const isAbove = from.top < to.top;
    const y = isAbove ? from.top + from.height : from.top, goal = isAbove ? to.top : to.top + to.height;
    context.fillStyle = context.strokeStyle;
    context.beginPath();
    context.moveTo(start, y);
    context.lineTo(end, goal);
    context.stroke();
    context.beginPath();
    context.arc(start, y, 2.5, 0, 2 * Math.PI);
    context.fill();
    context.beginPath();
    context.moveTo(end, goal);
    context.lineTo(end - 4, goal + (isAbove ? -7 : 7));
    context.lineTo(end + 4, goal + (isAbove ? -7 : 7));
    context.fill();
  }
}
