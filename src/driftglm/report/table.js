// A table that can be searched, filtered, sorted and paged; only the rows of one page exist.

const PAGE_SIZES = [10, 25, 100];

// columns: {label, value(row) -> number or text, cell(row) -> node or text, kind, note}
//   kind: "name" (the row's heading), "text", "number", or "plain" (cannot be sorted by).
// filters: {label, options, accept(row, option), selected}
function dataTable({ title, caption, columns, nRows, noun, text, searchLabel, filters }) {
  const state = { rows: [], page: 0, size: PAGE_SIZES[0], column: null, way: 1, wanted: "" };
  const chosen = filters.map((filter) => filter.selected);
  let lowered = null;

  const search = el("input", { type: "search", spellcheck: "false", autocomplete: "off" });
  const selects = filters.map((filter, i) =>
    choice(filter.label, filter.options, filter.selected, (option) => {
      chosen[i] = option;
      refresh();
    }));
  const tools = el("div", { class: "tools" },
    el("label", { class: "grow" }, searchLabel, search), selects.map((each) => each.node));
  const headings = columns.map(heading);
  const body = el("tbody");
  const table = el("table", { class: "full" }, el("caption", { class: "sr" }, title),
    el("thead", {}, el("tr", {}, headings)), body);
  const status = el("span", { role: "status" });
  const number = el("input", { type: "number", min: 1, value: 1, "aria-label": "Page" });
  const last = el("span");
  const back = el("button", { type: "button" }, "Previous");
  const forth = el("button", { type: "button" }, "Next");
  const size = choice("Rows", PAGE_SIZES.map(String), 0, (i) => {
    state.size = PAGE_SIZES[i];
    turn(0);
  });
  const pager = el("div", { class: "pager" },
    el("div", { class: "turn" }, back, el("label", {}, "Page", number), last, forth), size.node, status);

  function heading(column, i) {
    const cell = el("th", { scope: "col", title: column.note });
    if (column.kind === "name" || column.kind === "text") cell.classList.add("text");
    if (column.kind === "plain") {
      cell.append(column.label);
      return cell;
    }
    const button = el("button", { type: "button" }, column.label,
      el("span", { class: "way", "aria-hidden": "true" }));
    cell.setAttribute("aria-sort", "none");
    cell.append(button);
    button.addEventListener("click", () => sortBy(i));
    return cell;
  }

  // Numbers start with the largest, text with its first letter; a third click undoes sorting.
  function sortBy(i) {
    const first = columns[i].kind === "number" ? -1 : 1;
    if (state.column !== i) [state.column, state.way] = [i, first];
    else if (state.way === first) state.way = -first;
    else state.column = null;
    headings.forEach((cell, k) => {
      if (columns[k].kind === "plain") return;
      const way = k !== state.column ? "none" : state.way > 0 ? "ascending" : "descending";
      cell.setAttribute("aria-sort", way);
      cell.querySelector(".way").textContent = { none: "", ascending: "↑", descending: "↓" }[way];
    });
    refresh();
  }

  function select() {
    const wanted = state.wanted.toLowerCase();
    if (wanted !== "") lowered ??= Array.from({ length: nRows }, (_, row) => text(row).toLowerCase());
    const rows = [];
    for (let row = 0; row < nRows; row += 1) {
      if (wanted !== "" && !lowered[row].includes(wanted)) continue;
      if (filters.every((filter, i) => filter.accept(row, chosen[i]))) rows.push(row);
    }
    return rows;
  }

  function sort(rows) {
    if (state.column === null) return rows;
    const { value, kind } = columns[state.column];
    const { way } = state;
    const keys = new Map(rows.map((row) => [row, value(row)]));
    if (kind !== "number") {
      const order = new Intl.Collator("en", { numeric: true }).compare;
      return rows.sort((a, b) => way * order(keys.get(a), keys.get(b)) || a - b);
    }
    // What is no number comes last whichever way.
    return rows.sort((a, b) => {
      const [x, y] = [keys.get(a), keys.get(b)];
      const [noX, noY] = [Number.isNaN(x), Number.isNaN(y)];
      return noX || noY ? noX - noY || a - b : way * (x - y) || a - b;
    });
  }

  function refresh() {
    state.rows = sort(select());
    turn(0);
  }

  function turn(page) {
    const pages = Math.max(1, Math.ceil(state.rows.length / state.size));
    state.page = Math.min(Math.max(0, page), pages - 1);
    draw();
    const from = state.page * state.size;
    const to = Math.min(from + state.size, state.rows.length);
    const found = state.rows.length === nRows ? "" : ` (of ${count(nRows)})`;
    status.textContent = state.rows.length === 0
      ? `No ${noun} matches`
      : `${count(from + 1)}–${count(to)} of ${count(state.rows.length)}${found}`;
    number.value = state.page + 1;
    number.max = pages;
    last.textContent = `of ${count(pages)}`;
    back.disabled = state.page === 0;
    forth.disabled = state.page >= pages - 1;
  }

  function draw() {
    const from = state.page * state.size;
    body.replaceChildren(...state.rows.slice(from, from + state.size).map((row) =>
      el("tr", { "data-row": row }, columns.map((column) => {
        const cell = column.cell(row);
        if (column.kind === "name") return el("th", { scope: "row" }, cell);
        return el("td", { class: column.kind === "text" ? "text" : null }, cell);
      }))));
  }

  search.addEventListener("input", () => {
    state.wanted = search.value;
    refresh();
  });
  back.addEventListener("click", () => turn(state.page - 1));
  forth.addEventListener("click", () => turn(state.page + 1));
  number.addEventListener("change", () => turn(Math.round(Number(number.value) || 1) - 1));
  refresh();
  return {
    node: el("div", {}, tools, el("p", { class: "note" }, caption), scroller(title, table), pager),
    redraw: draw,
    choose(i, option) {
      chosen[i] = option;
      selects[i].select.value = option;
      refresh();
    },
  };
}
