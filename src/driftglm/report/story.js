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
    spec: () => storySpec(series, seen, steps, source),
    about: (datum) => (datum.from === undefined ? null : [el("bdi", {}, steps[datum.t]), names.map((name, s) => [named(name), said(s, datum.t)])]),
  });
  const table = numbers("The numbers of this figure", () => ({
    head: ["Step", ...names.map(named)],
    rows: steps.map((label, t) => [el("bdi", {}, label), ...names.map((_, s) => said(s, t))]),
  }));
  section("story", source.title, key, figure.node, table.node);
}

function storySpec(series, seen, labels, { what, share }) {
  const spec = pathsSpec(series, labels, { title: what, zero: false, share });
  const line = spec.layer.find((each) => each.mark.type === "line").encoding;
  const dots = {
    data: { values: seen },
    mark: { type: "point", size: 26, filled: false, strokeWidth: 1.2, opacity: 0.8 },
    encoding: { x: line.x, y: { ...line.y, field: "seen" }, color: line.color },
  };
  const hover = spec.layer.pop();
  return { ...spec, height: 380, layer: [...spec.layer, dots, hover] };
}
