"use strict";

/* The tables of a page: a filter above each long one, and names of instructions that lead to their buffers in the
 * picture.  Without scripts they are plain tables. */

const FILTERED_FROM = 20; // rows

class PageTables {
  constructor(memory) {
    this.memory = memory;
    this.tables = [...document.querySelectorAll("table[data-rows]")];
    this.filters = new Map();
    for (const table of this.tables) {
      if (table.tBodies[0].rows.length >= FILTERED_FROM) this.addFilter(table);
      for (const cell of table.querySelectorAll("td.name")) this.linkCell(cell);
    }
  }

  addFilter(table) {
    const input = element("input", { type: "search", class: "filter", size: "36", placeholder: "show rows with \u2026", "aria-label": "filter of the table" });
    const found = element("output");
    input.oninput = () => this.filter(table, (row) => row.textContent.toLowerCase().includes(input.value.trim().toLowerCase()));
    this.filters.set(table, { input, found });
    table.before(element("p", { class: "tools" }, input, found));
  }

  filter(table, isShown) {
    const rows = [...table.tBodies[0].rows];
    for (const row of rows) row.hidden = !isShown(row);
    const shown = rows.filter((row) => !row.hidden).length, filter = this.filters.get(table);
    if (filter) filter.found.textContent = shown === rows.length ? "" : `${shown} of ${rows.length} rows`;
  }

  linkCell(cell) {
    const name = cell.textContent;
    if (!this.memory || !this.memory.bufferOf.has(name)) return;
    cell.replaceChildren(element("button", { class: "link", text: name, onclick: () => this.memory.show(name) }));
  }

  /* Rows that name one of |names|. */
  rowsOf(names) {
    const wanted = new Set(names.map((name) => name.replace(/\{[\d,]*\}$/, "")));
    const names_it = (row) => [...row.querySelectorAll("td.name")].some((cell) => wanted.has(cell.textContent));
    return this.tables.flatMap((table) => [...table.tBodies[0].rows].filter(names_it));
  }

  count(names) {
    return this.rowsOf(names).length;
  }

  /* Shows and marks the rows that name an instruction or what is inside it. */
  show(name, inside) {
    const rows = this.rowsOf([name, ...inside]);
    for (const old of document.querySelectorAll("tr.mentioned")) old.classList.remove("mentioned");
    for (const table of new Set(rows.map((row) => row.closest("table")))) {
      const wanted = new Set(rows), filter = this.filters.get(table);
      if (filter) filter.input.value = "";
      this.filter(table, (row) => wanted.has(row) || !filter);
    }
    for (const row of rows) row.classList.add("mentioned");
    if (rows.length > 0) rows[0].closest("section").scrollIntoView({ block: "start" });
  }
}

window.pageTables = new PageTables(window.memoryView);
