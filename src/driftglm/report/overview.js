// The parts that show many rows at once: words by step, heat map, histogram.

function rowsOf(model, state, most, wanted = () => true) {
  const rows = [];
  for (let row = 0; row < model.nPaths && rows.length < most; row += 1) {
    if (model.groupOf(row) === state.group && wanted(row)) rows.push(row);
  }
  return rows;
}

function wordsSection(model, state) {
  const body = el("tbody");
  const pair = [["Makes more frequent", 1], ["Makes rarer", -1]];
  const table = el("table", { class: "full wordsby" },
    el("caption", { class: "sr" }, "Words over time"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Step"), pair.map(([label]) => el("th", { scope: "col", class: "text" }, label)))), body);
  const top = (t, sign) => {
    const rows = rowsOf(model, state, Infinity, (row) => model.kindOf(row) !== 0 && sign * model.path(row)[t] > 0);
    rows.sort((a, b) => sign * (model.path(b)[t] - model.path(a)[t]) || a - b);
    const words = rows.slice(0, 6).map((row) => named(model.label(row)));
    return words.length === 0 ? "–" : words.flatMap((word, i) => (i === 0 ? [word] : [", ", word]));
  };
  const draw = () => body.replaceChildren(...model.steps.map((label, t) => el("tr", {},
    el("th", { scope: "row" }, el("bdi", {}, label)), pair.map(([, sign]) => el("td", { class: "text" }, top(t, sign))))));
  const title = el("span");
  const about = el("p", { class: "note" }, "Words in the model with the largest coefficients of every step, the strongest first, for the effect ", title, ".");
  const refresh = () => {
    title.replaceChildren(named(model.groups[state.group]));
    draw();
  };
  state.parts.push({ grouped: refresh });
  section("words", "Words over time", about, scroller("Words over time", table));
  refresh();
}

function heatSection(model, state) {
  const { measures } = state;
  const rows = () => {
    const found = rowsOf(model, state, report.top, (row) => model.kindOf(row) !== 0);
    return found.length > 0 ? found : rowsOf(model, state, report.top);
  };
  const peak = (row) => peakOf(model, row);
  const most = (n) => (n === 1 ? `The most important ${model.noun}` : `The ${plural(n, `most important ${model.noun}`)}`);
  const share = { label: `as shares of each ${model.noun}'s largest`, title: "share of the row's largest", relative: true, unit: (row) => 1 / (peak(row) || 1) };
  const ways = [...measures.slice().reverse(), share];
  let way = measures.length === 1 && isUneven(model, rows(), 0.5) ? share : ways[0];
  const values = (row) => Array.from(model.path(row), (v) => v * way.unit(row));
  const text = (v, row) => (way.text ?? state.text)(v, row);
  const limit = () => {
    if (way.relative) return 1;
    const sizes = rows().flatMap((row) => values(row).map(Math.abs)).filter((v) => v > 0 && Number.isFinite(v)).sort((a, b) => a - b);
    return sizes.length === 0 ? 1 : sizes[Math.floor(0.98 * (sizes.length - 1))];
  };
  const cells = () => rows().flatMap((row, r) => values(row).map((v, t) => ({ r, t, v: Number.isFinite(v) ? v : null })));
  const where = () => (model.grouped ? ` of ${model.groupNoun} ${spoken(model.groups[state.group])}` : "");
  const figure = plot({
    renderer: "canvas",
    label: () => `Heat map of the coefficients of ${plural(rows().length, model.noun)} over time${where()}; the numbers are in the table below.`,
    caption: () => `${most(rows().length)}${where()}. ${way.relative ? "Every row is divided by its largest absolute value." : "Colours end at the 98th percentile of the absolute values shown."}`,
    spec: () => {
      if (rows().every((row) => peak(row) === 0)) return "All coefficients are zero.";
      return heatSpec(cells(), rows().map(model.label), model.steps, limit(), way.title);
    },
    about: (datum) => {
      if (datum.r === undefined) return null;
      const row = rows()[datum.r];
      const unit = way.relative ? 1 : way.unit(row);
      const v = model.path(row)[datum.t] * unit;
      const ends = model.band(row)?.map((values) => values[datum.t] * unit);
      const band = ends === undefined ? "" : ` (${text(ends[0], row)} to ${text(ends[1], row)})`;
      return [named(model.label(row)), [["step", el("bdi", {}, model.steps[datum.t])], [way.relative ? "coefficient" : way.title, text(v, row) + band]]];
    },
  });
  const table = numbers("The numbers of this figure", () => ({
    head: [capital(model.noun), ...model.steps.map((label) => el("bdi", {}, label))],
    rows: rows().map((row) => [named(model.label(row)), ...(way.relative ? Array.from(model.path(row)) : values(row)).map((v) => text(v, row))]),
  }));
  const refresh = () => {
    figure.draw();
    table.draw();
  };
  const scale = choice("Coefficients", ways.map((each) => each.label), ways.indexOf(way), (i) => {
    way = ways[i];
    refresh();
  });
  state.parts.push({ grouped: refresh });
  section("heat", "Heat map", el("div", { class: "tools" }, scale.node), figure.node, table.node);
}

function histogramSection(model, state) {
  const bins = () => model.autocorrelation[state.group];
  const total = () => bins().reduce((a, b) => a + b, 0);
  const edges = (i) => `${numberText(i / bins().length, 2)} to ${numberText((i + 1) / bins().length, 2)}`;
  const figure = plot({
    renderer: "svg",
    size: "short",
    label: () => `Histogram of the autocorrelations of ${plural(total(), "included feature")}; the numbers are in the table below.`,
    caption: () => `Posterior mean correlation between one step and the next, of the ${plural(total(), "feature")} in the model. Near 1: slow drift; near 0: every step on its own.`,
    spec: () => (total() === 0 ? "No feature of this class is in the model." : histogramSpec(bins())),
    about: (datum) => (datum.n === undefined ? null : [plural(datum.n, "feature"), [["autocorrelation", `${numberText(datum.from, 2)} to ${numberText(datum.to, 2)}`]]]),
  });
  const table = numbers("The numbers of this figure", () => ({
    head: ["Autocorrelation", "Features"], rows: bins().map((n, i) => [edges(i), count(n)]),
  }));
  state.parts.push({ grouped: () => { figure.draw(); table.draw(); } });
  section("autocorrelation", "How fast features drift", figure.node, table.node);
}
