// The first picture: predictions of a few named rows at every step, and what was seen.

function storySection(source) {
  const { names, steps } = source;
  const T = steps.length;
  const [line, lower, upper, observed] = [source.line, source.lower, source.upper, source.observed].map((each) => runs(each, T));
  const series = names.map((_, k) => ({ values: line(k), lower: lower(k), upper: upper(k), next: null }));
  const seen = names.flatMap((_, s) => (observed(s) ?? []).map((v, t) => ({ s, t, seen: v })).filter((each) => Number.isFinite(each.seen)));
  const text = source.share ? (value) => `${numberText(100 * value, 0)} %` : textFor(series.flatMap((each) => each.values));
  const key = el("ul", { class: "chips key", "aria-label": "Lines drawn" });
  const drawKey = () => key.replaceChildren(...names.map((name, s) => el("li", {}, stroke(s), el("span", { class: "label", title: name }, named(name)))));
  themeChanged.push(drawKey);
  drawKey();
  const said = (s, t) => {
    const each = series[s];
    const band = each.lower === null ? "" : ` (${text(each.lower[t])} to ${text(each.upper[t])})`;
    const real = observed(s)?.[t] ?? NaN;
    return `${text(each.values[t])}${band}${Number.isFinite(real) ? `, seen ${text(real)}` : ""}`;
  };
  const figure = plot({
    renderer: "svg",
    label: () => `${capital(source.what)} over time: ${names.map(spoken).join(", ")}; the numbers are in the table below.`,
    caption: () => source.caption,
    spec: () => storySpec(series, seen, steps, { ...source, observed }),
    about: (datum) => (datum.from === undefined ? null : [el("bdi", {}, steps[datum.t]), names.map((name, s) => [named(name), said(s, datum.t)])]),
  });
  const table = numbers("The numbers of this figure", () => ({
    head: ["Step", ...names.map(named)],
    rows: steps.map((label, t) => [el("bdi", {}, label), ...names.map((_, s) => said(s, t))]),
  }));
  section("story", source.title, key, figure.node, table.node);
}

function storySpec(series, seen, labels, { what, share, names, marks, observed }) {
  const spec = pathsSpec(series, labels, { title: what, zero: false, share });
  const drawn = spec.layer.find((each) => each.mark.type === "line");
  const line = drawn.encoding;
  dotUnseen(drawn, series, observed);
  const dots = {
    data: { values: seen },
    mark: { type: "point", size: 26, filled: false, strokeWidth: 1.2, opacity: 0.8 },
    encoding: { x: line.x, y: { ...line.y, field: "seen" }, color: line.color },
  };
  const hover = spec.layer.pop();
  const words = [...eventLayers(marks, labels.length, line.x), ...nameLayers(series, seen, names, line)];
  return { ...spec, height: 380 + EVENT_ROW * marks.length, layer: [...spec.layer, dots, ...words, hover] };
}

const EVENT_ROW = 16;

// The same line in pieces: dotted from a step to the next where either has nothing that was seen.
function dotUnseen(drawn, series, observed) {
  if (series.every((_, s) => observed(s) === null)) return;
  const values = series.flatMap((each, s) => range(each.values.length - 1).flatMap((t) => {
    const known = [t, t + 1].every((at) => observed(s) === null || Number.isFinite(observed(s)[at] ?? NaN));
    return [t, t + 1].map((at) => ({ s, t: at, v: each.values[at], dash: known ? s : -1, piece: `${s} ${t}` }));
  }));
  const n = series.length;
  const scale = { domain: [-1, ...range(n)], range: [[2, 4], ...DASHES.slice(0, n)] };
  drawn.data = { values };
  drawn.mark = { ...drawn.mark, strokeCap: "round" };
  drawn.encoding = { ...drawn.encoding, detail: { field: "piece", type: "nominal" }, strokeDash: { field: "dash", type: "nominal", legend: null, scale } };
}

// What happened, above the lines: a row of words each, so that they cannot meet.
function eventLayers(marks, T, x) {
  if (marks.length === 0) return [];
  const [ink, quiet] = [colour("ink"), colour("quiet")];
  const values = marks.map(({ t, text }, k) => ({ t, text: clip(text, 32), from: -15 - EVENT_ROW * (marks.length - 1 - k) }));
  const at = { x: { ...x, field: "t" } };
  const top = { field: "from", type: "quantitative", scale: null };
  return [
    { data: { values }, mark: { type: "rule", color: quiet, strokeWidth: 1, strokeDash: [3, 3] }, encoding: { ...at, y: top, y2: { value: "height" } } },
    ...["left", "right"].map((align) => ({
      data: { values: values.filter((each) => (each.t > 0.6 * T) === (align === "right")) },
      mark: { type: "text", align, dx: align === "left" ? 5 : -5, color: ink, fontSize: 12, baseline: "middle" },
      encoding: { ...at, y: top, text: { field: "text" } },
    })),
  ];
}

// Names at the ends of lines, apart from each other, where there is room for them.
function nameLayers(series, seen, names, { x, y, color }) {
  if (main.clientWidth < 700) return [];
  const last = series[0].values.length - 1;
  const all = [...series.flatMap((each) => [...each.values, ...(each.lower ?? []), ...(each.upper ?? [])]), ...seen.map((each) => each.seen)];
  const apart = 0.05 * (y.scale.domain === undefined ? Math.max(...all) - Math.min(...all) : 1);
  const values = names.map((name, s) => ({ s, t: last, end: series[s].values[last], name: clip(name, 18) }));
  values.sort((a, b) => b.end - a.end);
  values.forEach((each, k) => {
    if (k > 0) each.end = Math.min(each.end, values[k - 1].end - apart);
  });
  x.scale.domain[1] += 0.15 * last;
  return [{
    data: { values },
    mark: { type: "text", align: "left", dx: 9, fontSize: 12.5, fontWeight: 600, baseline: "middle" },
    encoding: { x, y: { ...y, field: "end" }, color, text: { field: "name" } },
  }];
}
