"use strict";

/* What all pictures of a page share around their Chart: a search, a legend, a tooltip, tools and keys.  A view extends
 * PictureView, says what things there are and what is known of them, and has the elements that it names by class. */

/* An element with attributes, text among them, and children. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") made.textContent = value;
    else if (name === "onclick") made.onclick = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let amount = bytes, unit = 0;
  for (; amount >= 1024 && unit < units.length - 1; unit++) amount /= 1024;
  const digits = unit === 0 && Number.isInteger(amount) ? 0 : amount >= 99.95 ? 0 : amount >= 9.995 ? 1 : 2;
  return amount.toFixed(digits) + " " + units[unit];
}

/* 1234567 → "1 234 567" with narrow blanks that do not break. */
function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/* 12345.6 → "12 346", 123.456 → "123.46" */
function cyclesText(cycles) {
  if (cycles >= 1000) return grouped(Math.round(cycles));
  return String(Math.round(cycles * 100) / 100);
}

function percentText(share) {
  return `${(100 * share).toFixed(1)}\u202f%`;
}

function plural(count, noun) {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function swatch(colour, hatched = false) {
  return element("i", { class: "swatch" + (hatched ? " hatched" : ""), style: `background-color: var(--${colour})` });
}

function legendEntry(text, colour, hatched = false) {
  return element("span", {}, swatch(colour, hatched), text);
}

/* A number with its name above and a note below it. */
function tile(name, text, note) {
  return element("div", { class: "tile" }, element("span", { text: name }), element("b", { text }), element("small", { text: note }));
}

/* A table with heads; rows of texts and elements; columns of numbers have a head that begins with "#". */
function tableOf(heads, rows) {
  const isNumber = heads.map((head) => head.startsWith("#"));
  const head = element("tr", {}, ...heads.map((text, place) => element("th", { class: isNumber[place] ? "number" : "", text: text.replace(/^#/, "") })));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows.map((row) =>
    element("tr", {}, ...row.map((cell, place) => element("td", { class: isNumber[place] ? "number" : "" }, cell))))));
}

class PictureView {
  /* A view has, besides: texts (by item, in lower case, what a search looks at), noun, inOrder(items), goTo(item),
   * choose(item, box), tipOf(box) → [title, [name, text] …], paintLegend(mode), moreKeys(event). */
  constructor(section) {
    this.section = section;
    this.part = (name) => section.querySelector("." + name);
    this.texts = [];
    this.matches = [];
    this.match = -1;
    PictureView.current = PictureView.current ?? this;
    for (const kind of ["pointerover", "focusin"]) section.addEventListener(kind, () => { PictureView.current = this; });
  }

  makeChart(model) {
    const chart = new Chart(this.part("picture"), model);
    chart.onhover = (box, x, y) => this.showTip(box, x, y);
    chart.onpick = (box) => this.choose(box ? box.item : null, box);
    return chart;
  }

  /* ---- what is pointed at ---- */

  showTip(box, x, y) {
    const tip = this.part("tip");
    tip.hidden = !box;
    if (!box) return;
    const [title, facts] = this.tipOf(box);
    const list = facts.map(([name, text]) => [element("dt", { text: name }), element("dd", { text })]);
    tip.replaceChildren(element("b", { text: title }), element("dl", {}, ...list.flat()));
    const frame = this.part("frame"), room = frame.clientWidth - tip.offsetWidth - 4;
    const left = x + 16 > room ? x - tip.offsetWidth - 12 : x + 16;
    tip.style.left = `${Math.max(Math.min(left, room), 0)}px`;
    tip.style.top = `${Math.max(Math.min(y + 14, frame.clientHeight - tip.offsetHeight), 0)}px`;
  }

  /* ---- which tracks ---- */

  addTrackChoices() {
    this.part("tracks").replaceChildren(...this.chart.model.tracks.map((track, number) => {
      const box = element("input", { type: "checkbox", checked: "" });
      box.onchange = () => {
        if (box.checked) this.chart.hidden.delete(number);
        else this.chart.hidden.add(number);
        this.chart.invalidate();
      };
      return element("label", {}, box, track.choice ?? track.name);
    }));
  }

  /* ---- search ---- */

  search(text) {
    const wanted = text.trim().toLowerCase();
    const found = this.texts.map((one, item) => (one.includes(wanted) ? item : -1)).filter((item) => item >= 0);
    const matches = wanted === "" ? null : this.inOrder(found);
    this.matches = matches ?? [];
    this.match = -1;
    this.chart.matches = matches && new Set(matches);
    this.chart.invalidate();
    this.part("found").textContent = matches ? `${matches.length} of ${this.texts.length} ${this.noun}` : "";
  }

  nextMatch(step) {
    if (this.matches.length === 0) return;
    this.match = (this.match + step + this.matches.length) % this.matches.length;
    this.part("found").textContent = `${this.match + 1} of ${this.matches.length}`;
    this.goTo(this.matches[this.match]);
  }

  /* ---- tools and keys ---- */

  listen() {
    const search = this.part("search");
    search.oninput = () => this.search(search.value);
    search.onkeydown = (event) => {
      if (event.key === "Enter") this.nextMatch(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") { search.value = ""; this.search(""); this.part("picture").focus(); }
    };
    this.part("colours").onchange = (event) => this.paintLegend(event.target.value);
    this.part("closer").onclick = () => this.chart.zoomTime(0.6);
    this.part("wider").onclick = () => this.chart.zoomTime(1 / 0.6);
    this.part("all").onclick = () => this.chart.fit();
    this.hearKeys();
  }

  hearKeys() {
    this.part("picture").addEventListener("keydown", (event) => {
      const act = this.keys(event)[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
  }

  keys(event) {
    const around = this.chart.position + 0.5;
    return {
      "+": () => this.chart.zoomTime(0.6, around), "=": () => this.chart.zoomTime(0.6, around), "-": () => this.chart.zoomTime(1 / 0.6, around),
      0: () => this.chart.fit(), Escape: () => this.choose(null), ...this.moreKeys(event),
    };
  }
}

PictureView.current = null;

/* To the search of the picture that the reader looks at. */
addEventListener("keydown", (event) => {
  if (event.key !== "/" || !PictureView.current || /^(INPUT|SELECT)$/.test(document.activeElement.tagName)) return;
  event.preventDefault();
  PictureView.current.part("search").focus();
});
