// The parts on the fit as a whole: intercept, the next steps, fit by step, diagnosis.

function fitSections(model, source) {
  if (source.intercept && model.T > 1) interceptSection(model, source.intercept);
  if (source.fan) fanSection(model, source.fan);
  if (source.scores && model.T > 1) scoresSection(model, source.scores, source.scoreName, source.lossName);
  if (source.findings || source.pit) diagnosisSection(source.findings, source.pit);
}

// Rows of a table decoded from one run of numbers.
function runs(text, length) {
  const values = lazily(text, Float32Array);
  return (k) => (text === null ? null : Array.from(values().subarray(k * length, (k + 1) * length)));
}

// The words of a figure of lines: what is read when pointing at a step, and the table below it.
function lineFigure({ title, labels, names, series, zero, label, caption, text, next = "" }) {
  const at = (each, t) => {
    const [v, lo, hi] = t < each.values.length
      ? [each.values[t], each.lower?.[t] ?? null, each.upper?.[t] ?? null] : each.next;
    return lo === null ? text()(v) : `${text()(v)} (${text()(lo)} to ${text()(hi)})`;
  };
  const shown = next === "" ? labels : [...labels, next];
  const figure = plot({
    renderer: "svg",
    label,
    caption,
    spec: () => pathsSpec(series(), labels, { title: title(), zero }),
    about: (datum) => (datum.from === undefined ? null : [el("bdi", {}, shown[datum.t]), series().map((each, s) => [names()[s], at(each, datum.t)])]),
  });
  const table = numbers("The numbers of this figure", () => ({
    head: ["Step", ...names()],
    rows: shown.map((step, t) => [el("bdi", {}, step), ...series().map((each) => at(each, t))]),
  }));
  return { node: [figure.node, table.node], draw() { figure.draw(); table.draw(); } };
}

function interceptSection(model, source) {
  const { T } = model;
  const [path, reach] = [runs(source.path, T + 1), runs(source.reach, T + 1)];
  const n = Math.max(1, source.names.length);
  const series = range(n).map((k) => {
    const [values, half] = [path(k), reach(k)];
    const moved = (sign) => half && values.map((v, t) => v + sign * half[t]);
    const [lower, upper] = [moved(-1), moved(1)];
    return { values: values.slice(0, T), lower: lower?.slice(0, T), upper: upper?.slice(0, T), next: [values[T], lower?.[T] ?? null, upper?.[T] ?? null] };
  });
  const text = textFor(series.flatMap((each) => each.values.map((v) => v - series[0].values[0])));
  const key = el("ul", { class: "chips key", "aria-label": "Classes drawn" });
  const drawKey = () => key.replaceChildren(...source.names.map((name, s) => el("li", {}, stroke(s), el("span", { class: "label", title: name }, named(name)))));
  themeChanged.push(drawKey);
  drawKey();
  const figure = lineFigure({
    title: () => "intercept",
    labels: model.steps,
    names: () => (source.names.length > 0 ? source.names.map(named) : ["intercept"]),
    series: () => series,
    zero: false,
    label: () => "Intercept over time; the numbers are in the table below.",
    caption: () => `On the scale of ${source.scale}, for a row with all columns at ${source.centre}. It is not the intercept at zero, which may lie far outside the data. ${source.reach ? "Bands: central 90 % intervals. " : ""}Dotted: the step after the last.${source.leftOut > 0 ? ` ${plural(source.leftOut, "more class")} left out.` : ""}`,
    text: () => text,
    next: "next",
  });
  section("intercept", "Intercept", source.names.length > 0 ? key : null, figure.node);
}

function fanSection(model, source) {
  const { steps, nAhead, levels } = source;
  const T = steps.length - nAhead;
  const line = runs(source.line, steps.length);
  const [lower, upper] = [source.lower, source.upper].map((each) => runs(each, levels.length * nAhead));
  const bounded = source.lower !== null;
  let k = 0;
  const what = () => source.what ?? `probability of ${model.groups[k]}`;
  const ends = (i, j) => [lower(k)[j * nAhead + i], upper(k)[j * nAhead + i]];
  const text = () => textFor(line(k).slice(T).concat(bounded ? range(nAhead).flatMap((i) => ends(i, 0).map((v) => v - line(k)[T - 1])) : []));
  const figure = plot({
    renderer: "svg",
    label: () => `Forecast of ${spoken(what())} for ${plural(nAhead, "step")} after the last; the numbers are in the table below.`,
    caption: () => `${what() === "y" ? "Prediction of y" : `The ${what()}`} for a row with all columns at ${source.row}: as fitted at the training steps, and for ${plural(nAhead, "step")} after them (dashed). ${bounded ? `Bands: central ${levels.slice().reverse().join(", ")} % intervals ${source.what === "y" ? "of y, noise included" : "of the probability"}.` : "This fit is a posterior mode and has no intervals."}`,
    spec: () => fanSpec(line(k), bounded ? levels.map((_, j) => range(nAhead).map((i) => ends(i, j))) : [], steps, nAhead, clip(what(), 40)),
    about: (datum) => {
      if (datum.from === undefined) return null;
      const found = [[datum.t < T ? "fitted" : "forecast", text()(line(k)[datum.t])]];
      if (datum.t >= T && bounded) levels.forEach((level, j) => found.push([`${level} %`, ends(datum.t - T, j).map(text()).join(" to ")]));
      return [el("bdi", {}, steps[datum.t]), found];
    },
  });
  const table = numbers("The numbers of this figure", () => ({
    head: ["Step", "Prediction", ...(bounded ? levels.map((level) => `${level} % interval`) : [])],
    rows: steps.map((label, t) => [el("bdi", {}, label), text()(line(k)[t]),
      ...(bounded ? levels.map((_, j) => (t < T ? "–" : ends(t - T, j).map(text()).join(" to "))) : [])]),
  }));
  const pick = source.what !== null ? null : choice(capital(model.groupNoun), model.groups, 0, (i) => {
    k = i;
    figure.draw();
    table.draw();
  });
  section("fan", "The next steps", pick && el("div", { class: "tools" }, pick.node), figure.node, table.node);
}

function scoresSection(model, scores, name, loss) {
  const all = scores[scores.length - 1];
  const views = [
    { label: `${name}, the share explained`, title: name, key: "explained", note: `${name}: one less the ${loss} over that of the mean of all rows` },
    { label: `the ${loss}`, title: loss, key: "loss", note: `${capital(loss)}, lower is better` },
  ].map((view) => ({ ...view, text: textFor(scores.map((each) => each[view.key])) }));
  let view = views[0];
  const values = () => scores.slice(0, model.T).map((each) => each[view.key]);
  const figure = lineFigure({
    title: () => view.title,
    labels: model.steps,
    names: () => [view.title],
    series: () => [{ values: values(), lower: null, upper: null, next: null }],
    zero: true,
    label: () => `${capital(view.title)} by training step; the numbers are in the table below.`,
    caption: () => `${view.note}. Of the rows the model was fitted to, so that new rows are predicted less well. All ${count(all.rows)} rows together: ${view.text(all[view.key])}.`,
    text: () => view.text,
  });
  const pick = choice("Shows", views.map((each) => each.label), 0, (i) => {
    view = views[i];
    figure.draw();
  });
  section("scores", "Fit by step", el("div", { class: "tools" }, pick.node), figure.node);
}

function diagnosisSection(findings, pit) {
  const parts = [];
  if (findings && findings.length === 0) parts.push(el("p", {}, "No check of the residuals found anything."));
  if (findings && findings.length > 0) {
    const table = el("table", { class: "full wordsby" }, el("caption", { class: "sr" }, "Findings"),
      el("thead", {}, el("tr", {}, ["Check", "Severity", "Finding, and what to do"].map((text) => el("th", { scope: "col", class: "text" }, text)))),
      el("tbody", {}, findings.map(([check, finding, advice, severity]) => el("tr", {}, el("th", { scope: "row" }, named(check)),
        el("td", { class: "text tight" }, named(severity)),
        el("td", { class: "text" }, named(finding), el("div", { class: "advice" }, named(advice)))))));
    parts.push(scroller("Findings", table));
  }
  if (pit) {
    const share = (i) => `${i * 100 / pit.counts.length} to ${(i + 1) * 100 / pit.counts.length} %`;
    const figure = plot({
      renderer: "svg",
      size: "short",
      label: () => "Histogram of where y fell in its predictive distribution; the numbers are in the table below.",
      caption: () => `${count(pit.rows)} training rows by the probability the model gave to a lower y (PIT). Bars are of equal height if its probabilities are right: higher ends mean that intervals are too narrow, a higher middle that they are too wide. Grey: where 9 of 10 bars lie by chance; it is wider where the rows of a step lean the same way.`,
      spec: () => pitSpec(pit),
      about: (datum) => (datum.n === undefined ? null : [plural(datum.n, "row"), [["probability", share(datum.i)], ["by chance", `${count(pit.low)} to ${count(pit.high)}`]]]),
    });
    const table = numbers("The numbers of this figure", () => ({
      head: ["Probability of a lower y", "Rows", "By chance"],
      rows: pit.counts.map((n, i) => [share(i), count(n), `${count(pit.low)} to ${count(pit.high)}`]),
    }));
    parts.push(el("h3", {}, "Are its probabilities right?"), figure.node, table.node);
  }
  section("diagnosis", "Diagnosis", parts);
}

// ---------------------------------------------------------------------------- specifications

// line: at all steps; bands: by level, the widest first, [low, high] of the steps after the last.
function fanSpec(line, bands, labels, nAhead, title) {
  const T = labels.length - nAhead;
  const x = (field = "t") => ({ field, type: "quantitative", axis: stepAxis(labels), scale: { domain: [-0.5, labels.length - 0.5], nice: false } });
  const y = (field) => ({ field, type: "quantitative", title, axis: { tickCount: 6 }, scale: { zero: false } });
  const [main1] = palette();
  const points = line.map((v, t) => ({ t, v }));
  // Half a step to either side, so that a single step has a width too.
  const around = (ends) => [[-0.5, ends[0]], ...ends.map((each, i) => [i, each]), [ends.length - 0.5, ends[ends.length - 1]]]
    .map(([i, [lo, hi]]) => ({ t: T + i, lo, hi }));
  // Between whole numbers, those of counts, bands jump.
  const interpolate = bands.flat(2).every(Number.isInteger) ? "step" : "linear";
  const layers = bands.map((ends) => ({
    data: { values: around(ends) }, mark: { type: "area", color: main1, opacity: 0.18, interpolate }, encoding: { x: x(), y: y("lo"), y2: { field: "hi" } },
  }));
  layers.push(
    { data: { values: points.slice(0, T) }, mark: { type: "line", color: main1, strokeWidth: 2 }, encoding: { x: x(), y: y("v") } },
    { data: { values: points.slice(T - 1) }, mark: { type: "line", color: main1, strokeWidth: 2, strokeDash: [4, 3] }, encoding: { x: x(), y: y("v") } },
    hoverLayer(labels.length, x()),
  );
  if (labels.length <= 60) layers.splice(-1, 0, { data: { values: points }, mark: { type: "circle", color: main1, size: 26, opacity: 1 }, encoding: { x: x(), y: y("v") } });
  return { height: 320, params: [{ name: "labels", value: labels }], layer: layers };
}

function pitSpec({ counts, low, high }) {
  const n = counts.length;
  const bars = counts.map((rows, i) => ({ from: i / n, to: (i + 1) / n, n: rows, i }));
  const x = (field) => ({ field, type: "quantitative", title: "probability of a lower y", scale: { domain: [0, 1] }, axis: { grid: false, tickCount: 6, format: ".0%" } });
  const y = (field) => ({ field, type: "quantitative", title: "rows", axis: { tickCount: 5, format: ",d" } });
  const [main1] = palette();
  return {
    height: 220,
    layer: [
      { data: { values: bars }, mark: { type: "bar", color: main1, tooltip: true, binSpacing: 1 }, encoding: { x: { ...x("from"), bin: { binned: true } }, x2: { field: "to" }, y: y("n") } },
      { data: { values: [{ a: 0, b: 1, low, high }] }, mark: { type: "rect", color: colour("quiet"), opacity: 0.35, tooltip: null }, encoding: { x: x("a"), x2: { field: "b" }, y: y("low"), y2: { field: "high" } } },
    ],
  };
}
