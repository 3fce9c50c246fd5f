// The parts on a model's rows: paths of those picked, and the table to pick from.

function readModel(source) {
  const T = source.steps.length;
  const columns = new Map(Object.entries(source.columns).map(([key, text]) => [key, lazily(text, Float32Array)]));
  const [name, group, kind] = [source.name, source.group, source.kind].map((text) => lazily(text, Int32Array));
  const [path, low, high] = [source.path, source.low, source.high].map((text) => lazily(text, Float32Array));
  const run = (values, row) => values().subarray(row * T, (row + 1) * T);
  return {
    ...source,
    T,
    has: (key) => columns.has(key),
    value: (key, row) => columns.get(key)()[row],
    values: (key) => columns.get(key)(),
    label: (row) => source.names[name()[row]],
    against: (row) => source.references?.[name()[row]] ?? null,
    note: (row) => source.notes?.[row] ?? null,
    groupOf: (row) => group()[row],
    kindOf: (row) => kind()[row],
    hasPath: (row) => row < source.nPaths,
    path: (row) => run(path, row),
    // Ends of the band about a path: [low, high], or null where there is none.
    band: (row) => (source.low === null ? null : [run(low, row), run(high, row)]),
    grouped: source.groupNoun !== null,
  };
}

function sparkline(model, row) {
  if (!model.hasPath(row) || model.T < 2) return "–";
  const [width, height] = [96, 24];
  const values = model.path(row);
  const band = model.band(row);
  const [low, high] = band ?? [values, values];
  const finite = [...low, ...high, 0].filter(Number.isFinite);
  const [least, most] = [Math.min(...finite), Math.max(...finite)];
  const y = (v) => (most === least ? height / 2 : height - 1 - ((v - least) / (most - least)) * (height - 2)).toFixed(1);
  const x = (t) => ((t / (model.T - 1)) * width).toFixed(1);
  const run = (list) => Array.from(list, (v, t) => `${x(t)} ${y(Number.isFinite(v) ? v : 0)}`);
  const parts = [svg("line", { class: "axis", x1: 0, x2: width, y1: y(0), y2: y(0) })];
  if (band) parts.push(svg("path", { class: "band", d: `M${run(high).join("L")}L${run(low).reverse().join("L")}Z` }));
  parts.push(svg("path", { class: "run", d: `M${run(values).join("L")}` }));
  return svg("svg", { class: "spark", width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, parts);
}

// The rows picked for the plot of paths, at most as many as there are colours.
function picksOf(model, changed) {
  let rows = [];
  const inGroup = (g) => {
    const found = [];
    for (let row = 0; row < model.nPaths && found.length < 400; row += 1) {
      if (model.groupOf(row) === g && model.kindOf(row) !== 0) found.push(row);
    }
    return found;
  };
  const first = (g) => {
    const found = inGroup(g);
    if (model.noun !== "word") return found.slice(0, 5);
    const of = (k) => found.filter((row) => model.kindOf(row) === k).slice(0, 3);
    return [...of(1), ...of(2)].sort((a, b) => a - b);
  };
  return {
    list: () => rows,
    includes: (row) => rows.includes(row),
    start(g) {
      rows = first(g);
      changed();
    },
    toggle(row) {
      rows = rows.includes(row) ? rows.filter((each) => each !== row) : [...rows, row].slice(-MOST_LINES);
      changed();
    },
  };
}

// The first group with anything in the model.
function firstGroup(model) {
  for (let row = 0; row < model.nRows; row += 1) {
    if (model.kindOf(row) !== 0) return model.groupOf(row);
  }
  return 0;
}

// How coefficients can be measured: as they are, and where it is known per size of their column.
function measuresOf(model) {
  const typical = range(Math.min(2000, model.nRows)).filter((row) => model.kindOf(row) !== 0);
  const measure = (label, title, unit) => {
    const last = (row) => model.value("last", row) * unit(row);
    const decimals = decimalsFor(typical.map(last));
    // A coefficient of a column on a large scale has digits of its own.
    const own = (row) => (model.kindOf(row) === 0 ? 0 : decimalsFor([last(row)]));
    return { label, title, unit, text: (value, row) => numberText(value, Math.max(decimals, own(row))) };
  };
  const raw = measure(model.has("unit") ? "per unit of the column" : "as they are", "coefficient", () => 1);
  if (!model.has("unit")) return [raw];
  return [raw, measure(`per ${model.unitNoun} of the column`, `coefficient × ${model.unitNoun}`, (row) => model.value("unit", row))];
}

// Rows in very different units would leave lines flat, and cells blank, on one scale. `place` is
// where the size stands, of those in order, that the largest is compared with.
function isUneven(model, rows, place) {
  const peaks = rows.map((row) => peakOf(model, row)).filter((v) => v > 0).sort((a, b) => a - b);
  return peaks.length > 1 && peaks[peaks.length - 1] > 20 * peaks[Math.floor(place * peaks.length)];
}

function peakOf(model, row) {
  return Math.max(...Array.from(model.path(row), (v) => (Number.isFinite(v) ? Math.abs(v) : 0)));
}

function modelSections(model, fit) {
  const measures = measuresOf(model);
  const [{ text }] = measures;
  const parts = [];
  const state = { group: firstGroup(model), text, measures, parts };
  const picks = picksOf(model, () => parts.forEach((part) => part.picked?.()));
  const open = model.grouped ? choice(capital(model.groupNoun), model.groups, state.group, (g) => {
    state.group = g;
    picks.start(g); // draws the paths anew too
    parts.forEach((part) => part.grouped?.());
  }) : null;
  state.open = open?.node;
  pathSection(model, state, picks);
  tableSection(model, state, picks);
  if (model.noun === "word") wordsSection(model, state);
  if (model.T > 1) heatSection(model, state);
  if (fit) fitSections(model, fit);
  if (model.autocorrelation?.flat().some((n) => n > 0)) histogramSection(model, state);
  picks.start(state.group);
}

function pathSection(model, state, picks) {
  const { measures } = state;
  picks.start(state.group);
  let measure = measures[measures.length > 1 && isUneven(model, picks.list(), 0) ? 1 : 0];
  // The group is named where it is not the one chosen above.
  const full = (row) => (model.groupOf(row) === state.group ? model.label(row) : `${model.label(row)} · ${model.groups[model.groupOf(row)]}`);
  const ahead = model.T > 1 && model.has("next");
  const bounded = model.has("lower");
  const series = () => picks.list().map((row) => {
    const unit = measure.unit(row);
    const values = Array.from(model.path(row), (v) => v * unit);
    const [lower, upper] = (model.band(row) ?? [null, null]).map((ends) => ends && Array.from(ends, (v) => v * unit));
    return {
      row,
      values,
      lower,
      upper,
      next: ahead ? ["next", "lower", "upper"].map((key) => (key === "next" || bounded ? model.value(key, row) * unit : null)) : null,
    };
  });
  const at = (each, t) => {
    const text = (value) => measure.text(value, each.row);
    if (t === model.T) {
      const [v, lo, hi] = each.next;
      return lo === null ? text(v) : `${text(v)} (${text(lo)} to ${text(hi)})`;
    }
    return text(each.values[t]) + (each.lower ? ` (${text(each.lower[t])} to ${text(each.upper[t])})` : "");
  };
  const labels = ahead ? [...model.steps, "next"] : model.steps;
  const chips = el("ul", { class: "chips", "aria-label": `${capital(model.noun)}s drawn` });
  const said = el("p", { class: "sr", role: "status" });
  const figure = plot({
    renderer: "svg",
    label: () => `Coefficients over time of ${picks.list().map((row) => spoken(full(row))).join(", ") || "nothing"}; the numbers are in the table below.`,
    caption: () => `${model.band(0) ? "Bands: central 90 % intervals. " : "This fit is a posterior mode and has no intervals. "}${ahead ? "Dotted: the step after the last. " : ""}Point at a step to read the values; pick ${model.noun}s in the table below, ${MOST_LINES} at most.`,
    spec: () => {
      const drawn = series();
      if (drawn.length === 0) return `No ${model.noun} is drawn. Pick some in the table below.`;
      return model.T === 1 ? forestSpec(drawn, picks.list().map(full), measure.title) : pathsSpec(drawn, model.steps, { title: measure.title });
    },
    about: (datum) => {
      const drawn = series();
      if (datum.s !== undefined) return [named(full(picks.list()[datum.s])), [["coefficient", at(drawn[datum.s], 0)]]];
      if (datum.from === undefined) return null;
      return [el("bdi", {}, labels[datum.t] === "next" && datum.t === model.T ? "The step after the last" : labels[datum.t]),
        drawn.map((each, s) => [named(full(picks.list()[s])), at(each, datum.t)])];
    },
  });
  const table = numbers("The numbers of this figure", () => {
    const drawn = series();
    return {
      head: ["Step", ...picks.list().map((row) => named(full(row)))],
      rows: labels.map((label, t) => [el("bdi", {}, label), ...drawn.map((each) => at(each, t))]),
    };
  });
  const chip = (row, s) => {
    const label = full(row);
    const remove = el("button", { type: "button", "aria-label": `Remove ${spoken(label)}` }, "×");
    remove.addEventListener("click", () => {
      picks.toggle(row);
      said.textContent = `${spoken(label)} removed`;
      (chips.querySelector("button") ?? chips).focus();
    });
    return el("li", {}, stroke(s), el("span", { class: "label", title: label }, named(label)), remove);
  };
  const refresh = () => {
    chips.replaceChildren(...picks.list().map(chip));
    figure.draw();
    table.draw();
  };
  themeChanged.push(() => chips.replaceChildren(...picks.list().map(chip)));
  state.parts.push({ picked: refresh });
  const pick = measures.length === 1 ? null : choice("Coefficients", measures.map((each) => each.label), measures.indexOf(measure), (i) => {
    measure = measures[i];
    figure.draw();
    table.draw();
  });
  const tools = state.open || pick ? el("div", { class: "tools" }, state.open, pick?.node) : null;
  section("paths", model.T > 1 ? "Coefficient paths" : "Coefficients", counted(model),
    model.leftOut.map((line) => el("p", { class: "note" }, line)), tools, chips, said, figure.node, table.node);
}

// A piece of the line drawn for a series.
function stroke(s) {
  return svg("svg", { width: 18, height: 10, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 18, y1: 5, y2: 5, "stroke-width": 3, stroke: palette()[s], "stroke-dasharray": DASHES[s][1] ? "5 3" : null }));
}

function counted(model) {
  const pairs = [[`${model.noun}s${model.grouped ? ` × ${model.groups.length} ${model.groupNoun}${model.groupNoun.endsWith("s") ? "es" : "s"}` : ""}`, model.grouped ? model.total / model.groups.length : model.total], ["in the model", model.included]];
  const within = (kind) => model.counts.some((each) => each.kind !== kind && each.codes.includes(model.kinds.indexOf(kind)));
  const kinds = new Map([["up", "pushed up"], ["down", "pushed down"], ["sign-flip", `${within("sign-flip") ? "of these " : ""}change sign`]]);
  model.counts.forEach(({ kind, n }) => pairs.push([kinds.get(kind) ?? kind, n]));
  return el("dl", { class: "counts" }, pairs.map(([label, n]) => el("div", {}, el("dt", {}, label), el("dd", {}, count(n)))));
}

function tableSection(model, state, picks) {
  const { text } = state;
  const pick = (row) => {
    const box = el("input", { type: "checkbox", "aria-label": `Draw ${spoken(model.label(row))}`, disabled: !model.hasPath(row) });
    box.checked = picks.includes(row);
    box.addEventListener("change", () => picks.toggle(row));
    const against = model.against(row);
    return el("div", { class: "who" }, box, el("div", {}, el("span", { title: model.label(row) }, named(model.label(row))),
      against === null ? null : el("span", { class: "against", title: against }, "against ", named(against)),
      model.note(row) === null ? null : el("span", { class: "against", title: model.note(row) }, named(model.note(row)))));
  };
  const column = (label, key, note, show = text) => ({
    label, note, kind: "number", value: (row) => model.value(key, row), cell: (row) => show(model.value(key, row), row),
  });
  const share = (value) => (value < 0.0005 && value > 0 ? value.toExponential(1) : value.toFixed(4));
  const spanOf = (row) => el("span", { class: "interval" }, `${text(model.value("lower", row), row)} to ${text(model.value("upper", row), row)}`);
  const width = (row) => model.value("upper", row) - model.value("lower", row);
  const chance = (value) => (Number.isNaN(value) ? "–" : value > 0.995 && value < 1 ? "> 0.99" : value.toFixed(2));
  const words = model.noun === "word";
  const columns = [
    { label: capital(model.noun), kind: "name", value: model.label, cell: pick },
    model.grouped ? { label: capital(model.groupNoun), kind: "text", value: (row) => model.groups[model.groupOf(row)], cell: (row) => el("div", { class: "who" }, el("span", {}, named(model.groups[model.groupOf(row)]))) } : null,
    column("In the model", "inclusion", "Probability that the coefficient is not zero", chance),
    { label: "Kind", kind: "text", value: (row) => model.kinds[model.kindOf(row)], cell: (row) => model.kinds[model.kindOf(row)] },
    model.T > 1 && model.has("drift") ? column("Drifts", "drift", "Probability that the coefficient is not constant", chance) : null,
    words ? column("Share", "share", "Share of the word among all words at the last step", share) : null,
    column("Last", "last", "Coefficient at the last step"),
    words ? null : column("Next", "next", "Coefficient at the step after the last"),
    model.has("lower") ? { label: "90 % interval", note: `Of the ${words ? "last" : "next"} coefficient; sorted by width`, kind: "number", value: width, cell: spanOf } : null,
    model.T > 1 ? column("Change", "change", words ? "Last coefficient less the first" : "Largest difference between two steps, the later less the earlier") : null,
    model.T > 1 && model.has("autocorrelation") ? column("Autocorr.", "autocorrelation", "Correlation of one step with the next; – where never in the model", (v) => numberText(v, 2)) : null,
    model.T > 1 ? { label: "Path", kind: "plain", cell: (row) => sparkline(model, row) } : null,
  ].filter((each) => each !== null);
  const codes = [[0], ...model.counts.map((each) => each.codes)];
  const filters = [{ label: "Kind", options: ["all", ...model.kinds], selected: 0, accept: (row, k) => k === 0 || codes[k - 1].includes(model.kindOf(row)) }];
  if (model.grouped) {
    filters.push({ label: capital(model.groupNoun), options: [`all ${model.groupNoun}${model.groupNoun.endsWith("s") ? "es" : "s"}`, ...model.groups], selected: state.group + 1, accept: (row, g) => g === 0 || model.groupOf(row) === g - 1 });
  }
  const table = dataTable({
    title: `${capital(model.noun)}s`,
    caption: `The most important first; headings sort. ${model.T > 1 ? "Paths: from the first step to the last, the line at zero; every row has its own scale." : ""}`,
    columns, filters, nRows: model.nRows, noun: model.noun, text: model.label,
    searchLabel: `Search ${model.noun}s`,
  });
  state.parts.push({ picked: () => syncPicks(table.node, picks), grouped: () => table.choose(1, state.group + 1) });
  section("table", `${capital(model.noun)}s`, table.node);
}

// Boxes follow the picks without new rows, so that the one in use keeps the focus.
function syncPicks(node, picks) {
  for (const row of node.querySelectorAll("tr[data-row]")) {
    row.querySelector("input").checked = picks.includes(Number(row.dataset.row));
  }
}
