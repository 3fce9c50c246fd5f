// Plots by Vega-Lite, drawn when they come into view. Specifications name fields and expressions
// of our own only; labels from outside are values of data or of a parameter.

const LIGHT = ["#1768ac", "#c24d12", "#12805c", "#9b3f8b", "#846400", "#5553c9", "#4a545e", "#b3243f"];
const DARK = ["#6cb2f0", "#f2935c", "#4cc79a", "#dd8fd0", "#d9b64a", "#a9a8ff", "#b9c4cf", "#ff8fa0"];
// Past the fourth, lines are told apart by dashes too.
const DASHES = [[1, 0], [1, 0], [1, 0], [1, 0], [5, 3], [5, 3], [5, 3], [5, 3]];
const MOST_LINES = LIGHT.length;

function palette() {
  return document.documentElement.dataset.theme === "dark" ? DARK : LIGHT;
}

function themed() {
  const [ink, quiet, line, faint] = ["ink", "quiet", "line", "faint"].map(colour);
  return {
    aria: false,
    background: null,
    font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif",
    view: { stroke: null },
    axis: {
      labelColor: quiet, titleColor: quiet, domainColor: line, tickColor: line, gridColor: faint,
      labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelPadding: 6, titlePadding: 10,
    },
    legend: { labelColor: quiet, titleColor: quiet, labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" },
    text: { color: ink },
  };
}

// ----------------------------------------------------------------------------------- tooltip

const tip = document.getElementById("tip");

function hideTip() {
  tip.hidden = true;
}

function showTip(event, [title, pairs]) {
  const list = el("dl", {}, pairs.map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)]));
  tip.replaceChildren(el("strong", {}, title), list);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const [x, y] = [event.clientX, event.clientY];
  const left = x + 16 + box.width > innerWidth ? x - 16 - box.width : x + 16;
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - box.width - 4))}px`;
  tip.style.top = `${Math.max(4, Math.min(y + 16, innerHeight - box.height - 4))}px`;
}

addEventListener("scroll", hideTip, { passive: true });
addEventListener("keydown", (event) => {
  if (event.key === "Escape") hideTip();
});

// ------------------------------------------------------------------------------------ figure

// Text and tables first: the libraries are read only once the page has loaded and been shown.
const bundleReady = new Promise((resolve) => {
  addEventListener("load", () => setTimeout(() => {
    const script = document.createElement("script");
    script.textContent = document.getElementById("bundle").textContent;
    document.head.append(script);
    resolve();
  }, 0), { once: true });
});

// spec() -> Vega-Lite, or a sentence if there is nothing to draw; about(datum) -> [title, pairs].
function plot({ label, caption, renderer, spec, about, size = "" }) {
  const host = el("div", { class: `plot ${size}`, role: "img" });
  const text = el("figcaption");
  const node = el("figure", {}, host, text);
  let [seen, view, turn, width] = [false, null, 0, 0];

  async function draw() {
    if (!seen) return;
    turn += 1;
    const mine = turn;
    const made = spec();
    host.setAttribute("aria-label", label());
    text.textContent = typeof made === "string" ? "" : caption();
    await bundleReady;
    if (mine !== turn) return;
    if (view !== null) {
      hideTip();
      view.finalize();
    }
    view = null;
    if (typeof made === "string") {
      host.replaceChildren(el("p", { class: "note" }, made));
      return;
    }
    width = host.clientWidth;
    // A host of its own each time: an earlier drawing that ends late cannot take the place.
    const fresh = el("div", { "aria-hidden": "true" }); // the host has the words for it
    host.replaceChildren(fresh);
    const drawn = await window.vegaEmbed(fresh, { width, autosize: { type: "fit", contains: "padding" }, ...made }, {
      actions: false,
      ast: true, // expressions are interpreted: the page allows no code made of text
      config: themed(),
      defaultStyle: false,
      mode: "vega-lite",
      renderer,
      tooltip: (_, event, item, value) => {
        const told = value && item && item.datum ? about(item.datum) : null;
        if (told === null) hideTip();
        else showTip(event, told);
      },
    });
    if (mine === turn) view = drawn;
    else drawn.finalize();
    host.dataset.drawn = String(turn);
    performance.mark("plot-drawn");
  }

  const see = () => {
    if (seen) return;
    seen = true;
    draw();
  };
  new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) see();
  }, { rootMargin: "200px" }).observe(host);
  toPrint.push(see);
  new ResizeObserver(() => {
    if (seen && width > 0 && host.clientWidth > 0 && host.clientWidth !== width) draw();
  }).observe(host);
  host.addEventListener("pointerleave", hideTip);
  themeChanged.push(draw);
  return { node, draw };
}

function range(n) {
  return Array.from({ length: n }, (_, i) => i);
}

// As many of n positions as have room for labels, evenly spaced.
function ticks(n, labels) {
  const longest = Math.min(14, Math.max(...labels.map((label) => label.length)));
  const room = Math.max(2, Math.floor(Math.min(main.clientWidth, 1040) / (longest * 8 + 28)));
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((k) => n / k <= room) ?? n;
  return range(n).filter((i) => i % every === 0);
}

function stepAxis(labels) {
  return {
    title: null, grid: false, values: ticks(labels.length, labels), labelExpr: "labels[datum.value]",
    labelAngle: 0, labelLimit: 110, labelOverlap: true,
  };
}

function seriesColour(n) {
  return { field: "s", type: "nominal", legend: null, scale: { domain: range(n), range: palette().slice(0, n) } };
}

// ---------------------------------------------------------------------------- specifications

// What the pointer meets: a column a step.
function hoverLayer(n, x) {
  return {
    data: { values: range(n).map((t) => ({ t, from: t - 0.5, to: t + 0.5 })) },
    params: [{ name: "hover", select: { type: "point", on: "pointerover", clear: "pointerout" } }],
    mark: { type: "rect", color: colour("quiet"), tooltip: true },
    encoding: {
      x: { ...x, field: "from" }, x2: { field: "to" },
      opacity: { condition: { param: "hover", empty: false, value: 0.1 }, value: 0 },
    },
  };
}

// series: [{values, lower, upper, next}] over the same steps; next: [value, lower, upper] or null.
function pathsSpec(series, labels, { title = "coefficient", zero = true, share = false } = {}) {
  const n = series.length;
  const T = labels.length;
  const ahead = series.some((each) => each.next !== null);
  const shown = ahead ? [...labels, "next"] : labels;
  const points = [];
  const future = [];
  series.forEach((each, s) => {
    for (let t = 0; t < T; t += 1) {
      points.push({ s, t, v: each.values[t], lo: each.lower?.[t] ?? null, hi: each.upper?.[t] ?? null });
    }
    if (each.next === null) return;
    const [v, lo, hi] = each.next;
    // Side by side, since the intervals of a forecast are wide and would hide each other.
    const t = T + (s - (n - 1) / 2) * Math.min(0.1, T / 120);
    future.push({ s, t: T - 1, v: each.values[T - 1], edge: 0 }, { s, t, v, lo, hi, edge: 1 });
  });
  const x = { field: "t", type: "quantitative", axis: stepAxis(shown), scale: { domain: [-0.5, shown.length - 0.5], nice: false } };
  const [axis, scale] = share ? [{ tickCount: 5, format: "%" }, { domain: [0, 1] }] : [{ tickCount: 6 }, { zero }];
  const y = (field) => ({ field, type: "quantitative", title, axis, scale });
  const color = seriesColour(n);
  const strokeDash = { field: "s", type: "nominal", legend: null, scale: { domain: range(n), range: DASHES.slice(0, n) } };
  const tipOf = future.filter((point) => point.edge === 1);
  const layers = [];
  if (zero) layers.push({ data: { values: [{ z: 0 }] }, mark: { type: "rule", color: colour("quiet"), strokeWidth: 1 }, encoding: { y: y("z") } });
  if (series.some((each) => each.lower)) {
    layers.push({ mark: { type: "area", opacity: 0.13 }, encoding: { x, y: y("lo"), y2: { field: "hi" }, color } });
  }
  layers.push({ mark: { type: "line", strokeWidth: 2, strokeJoin: "round" }, encoding: { x, y: y("v"), color, strokeDash } });
  if (T <= 40) layers.push({ mark: { type: "circle", size: 26, opacity: 1 }, encoding: { x, y: y("v"), color } });
  if (ahead) {
    layers.push(
      { data: { values: future }, mark: { type: "line", strokeWidth: 1.5, strokeDash: [2, 3] }, encoding: { x, y: y("v"), color } },
      ...(series.some((each) => each.lower) ? [{ data: { values: tipOf }, mark: { type: "rule", strokeWidth: 1.5, opacity: 0.7 }, encoding: { x, y: y("lo"), y2: { field: "hi" }, color } }] : []),
      { data: { values: tipOf }, mark: { type: "point", size: 34, filled: false, fill: colour("paper"), strokeWidth: 1.5 }, encoding: { x, y: y("v"), color } },
    );
  }
  layers.push(hoverLayer(shown.length, x));
  return { height: 340, params: [{ name: "labels", value: shown }], data: { values: points }, layer: layers };
}

// One step only: a coefficient and its interval a line.
function forestSpec(series, names, title) {
  const points = series.map((each, s) => ({ s, v: each.values[0], lo: each.lower?.[0] ?? null, hi: each.upper?.[0] ?? null }));
  const y = { field: "s", type: "ordinal", axis: { title: null, labelExpr: "names[datum.value]", labelLimit: 150, ticks: false, domain: false } };
  const x = (field) => ({ field, type: "quantitative", title, axis: { tickCount: 5 } });
  const color = seriesColour(series.length);
  return {
    height: 40 * series.length + 50,
    params: [{ name: "names", value: names.map((name) => clip(name, 24)) }],
    data: { values: points },
    layer: [
      { data: { values: [{ z: 0 }] }, mark: { type: "rule", color: colour("quiet") }, encoding: { x: x("z") } },
      { mark: { type: "rule", strokeWidth: 2 }, encoding: { x: x("lo"), x2: { field: "hi" }, y, color } },
      { mark: { type: "circle", size: 70, opacity: 1, tooltip: true }, encoding: { x: x("v"), y, color } },
    ],
  };
}

function clip(text, most) {
  const letters = Array.from(spoken(text));
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : letters.join("");
}

// cells: {r, t, v}; limit: the value at which the colours end.
function heatSpec(cells, names, labels, limit, title) {
  const narrow = main.clientWidth < 600;
  const scale = { domain: [-limit, 0, limit], range: [colour("low"), colour("middle"), colour("high")], clamp: true, interpolate: "lab" };
  const legend = { orient: "top", gradientLength: narrow ? 180 : 240, gradientThickness: 10, tickCount: 5, titleAnchor: "start", titleLimit: 300 };
  // Between many narrow cells the gaps of rounding would look like lines.
  const stroke = labels.length > 60 ? { stroke: { field: "v", type: "quantitative", title, scale, legend } } : {};
  return {
    height: 19 * names.length + 100, // the legend and the labels of the steps included
    params: [{ name: "labels", value: labels }, { name: "names", value: names.map((name) => clip(name, narrow ? 14 : 30)) }],
    data: { values: cells },
    mark: { type: "rect", tooltip: true },
    encoding: {
      x: { field: "t", type: "ordinal", axis: { ...stepAxis(labels), ticks: false, domain: false } },
      y: { field: "r", type: "ordinal", axis: { title: null, labelExpr: "names[datum.value]", labelLimit: narrow ? 100 : 220, ticks: false, domain: false } },
      color: {
        field: "v", type: "quantitative", title,
        scale,
        legend,
      },
      ...stroke,
    },
  };
}

function histogramSpec(counts) {
  const bars = counts.map((n, i) => ({ from: i / counts.length, to: (i + 1) / counts.length, n }));
  const every = Math.ceil(Math.max(...counts) / 4);
  return {
    height: 200,
    data: { values: bars },
    mark: { type: "bar", color: palette()[0], tooltip: true, binSpacing: 1 },
    encoding: {
      x: { field: "from", bin: { binned: true }, type: "quantitative", title: "autocorrelation", scale: { domain: [0, 1] }, axis: { grid: false, tickCount: 6 } },
      x2: { field: "to" },
      y: { field: "n", type: "quantitative", title: "features", axis: { values: range(5).map((i) => i * every), format: ",d" } },
    },
  };
}

// points: {f, a, i} forecast, actual, position; bins: {f, a, lo, hi, n}.
function forecastSpec(points, bins, names, cloud) {
  const span = (values) => {
    const finite = values.filter((v) => v !== null && Number.isFinite(v));
    return finite.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
  };
  const across = span([...points, ...bins].map((point) => point.f));
  const along = span([...points.map((point) => point.a), ...bins.flatMap((bin) => [bin.a, bin.lo, bin.hi])]);
  const agree = [Math.max(across[0], along[0]), Math.min(across[1], along[1])];
  const x = (field) => ({ field, type: "quantitative", title: names[0], scale: { zero: false, domain: across, nice: true }, axis: { grid: false, tickCount: 6, labelFlush: false } });
  const y = (field) => ({ field, type: "quantitative", title: names[1], scale: { zero: false, domain: along, nice: true }, axis: { tickCount: 6 } });
  const [main1, main2] = palette();
  const layers = [
    { data: { values: agree[0] < agree[1] ? agree.map((z) => ({ z })) : [] }, mark: { type: "line", color: colour("quiet"), strokeWidth: 1, strokeDash: [4, 4] }, encoding: { x: x("z"), y: y("z") } },
    { data: { values: bins }, mark: { type: "rule", color: main2, strokeWidth: 2 }, encoding: { x: x("f"), y: y("lo"), y2: { field: "hi" } } },
    { data: { values: bins }, mark: { type: "circle", color: main2, size: 70, opacity: 1, tooltip: true }, encoding: { x: x("f"), y: y("a") } },
  ];
  if (cloud) {
    layers.unshift({ data: { values: points }, mark: { type: "circle", color: main1, size: 22, opacity: 0.3, tooltip: true }, encoding: { x: x("f"), y: y("a") } });
  }
  return { height: 380, layer: layers };
}
