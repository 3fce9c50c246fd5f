// The parts on a comparison: who won, and how forecasts met what came.

// -------------------------------------------------------------------------------- comparison

function pText(p) {
  if (p === null) return "–";
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

const BY_ROWS = "p: Wilcoxon signed-rank test on the losses of the same rows, two-sided, Holm-corrected. “Rows favour” is the side of the signed ranks; it may differ from the side of the mean. Rows of one company or place are not independent, so that p-values tend to be too small.";
const BY_STEPS = "p: whole test steps are drawn with replacement (a bootstrap), two-sided, Holm-corrected; rows have unequal weights, so that counting rows would say nothing. “Mean rank” is over test steps.";

function comparisonSection(found) {
  const { models, steps, values, digits, order, ranks, seconds, p, favours, whole } = found;
  const overall = values[values.length - 1];
  const best = order[0];
  const steady = (value) => numberText(value, digits);
  const shown = values.map((row) => row.map(steady));
  const winners = values.map((row) => steady(Math.min(...row.filter((v) => v !== null))));
  const bySteps = el("table", { class: "full" },
    el("caption", { class: "sr" }, "Loss by test step"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Test step"),
      order.map((k) => el("th", { scope: "col", class: "wordy" }, named(models[k]))))),
    el("tbody", {}, shown.map((row, i) => {
      const total = i === steps.length;
      return el("tr", { class: total ? "total" : null },
        el("th", { scope: "row" }, total ? "All rows" : el("bdi", {}, steps[i])),
        order.map((k) => el("td", { class: row[k] === winners[i] ? "best" : null }, row[k])));
    })));
  const some = models.length > 1;
  const compared = !some ? null : el("table", { class: "full" },
    el("caption", { class: "sr" }, "Models and significance"),
    el("thead", {}, el("tr", {}, ["Model", capital(found.label), "Above the best", "Mean rank", "p (Holm)", ...(whole ? [] : ["Rows favour"]), "Seconds"]
      .map((text) => el("th", { scope: "col", class: "wordy" }, text)))),
    el("tbody", {}, order.map((k) => {
      const above = overall[best] ? (100 * (overall[k] - overall[best])) / Math.abs(overall[best]) : NaN;
      const rival = k !== best;
      const side = favours[k] > 0 ? "the best" : favours[k] < 0 ? "this model" : "neither";
      return el("tr", {}, el("th", { scope: "row" }, el("div", { class: "who" }, el("span", { title: models[k] }, named(models[k])))),
        el("td", { class: rival ? null : "best" }, steady(overall[k])),
        el("td", {}, rival && overall[k] !== null ? `${numberText(above, 1)} %` : "–"),
        el("td", {}, numberText(ranks[k], 2)), el("td", {}, rival ? pText(p[k]) : "–"),
        whole ? null : el("td", {}, rival ? side : "–"), el("td", {}, seconds[k] < 0.05 ? "< 0.1" : numberText(seconds[k], 1)));
    })));
  const note = !some ? null : el("p", { class: "note" },
    `${whole ? BY_STEPS : BY_ROWS} Seconds: fitting and predicting, without tuning.`);
  const warned = found.warnings.length === 0 ? null : numbers(
    `${plural(found.warnings.length, "warning")} of the models`,
    () => ({ head: ["Model", "Warning"], rows: found.warnings.map(([m, text]) => [named(m), el("bdi", {}, text)]) }));
  const about = el("p", { class: "note" }, `${capital(found.label)}, lower is better${some ? "; the best of every row in bold" : ""}.`);
  section("comparison", "Comparison", about, scroller("Loss by test step", bySteps),
    some ? el("h3", {}, "Who is better than whom") : null,
    some ? scroller("Models and significance", compared) : null, note, warned && warned.node);
}

// --------------------------------------------------------------------------------- forecasts

function forecastSection(found) {
  const { forecasts, models, steps, order } = found;
  const actual = lazily(forecasts.actual, Float32Array);
  const step = lazily(forecasts.step, Int32Array);
  const row = lazily(forecasts.row, Int32Array);
  const predictions = forecasts.prediction.map((text) => lazily(text, Float32Array));
  const cloud = forecasts.what === "value";
  let k = order[0];

  const binsOf = () => forecasts.bins[k].map(([f, a, lo, hi, n]) => ({ f, a, lo, hi, n }));
  const points = () => (cloud ? Array.from(predictions[k](), (f, i) => ({ f, a: actual()[i], i })) : []);
  const decimals = decimalsFor(forecasts.bins.flat().map((bin) => bin[1]));
  const text = (value) => numberText(value, decimals);
  const axes = cloud ? ["forecast", "actual"] : ["forecast probability", clip(forecasts.what, 40)];
  const sampled = forecasts.nPoints < forecasts.nRows
    ? `${count(forecasts.nPoints)} of ${count(forecasts.nRows)} rows, drawn at random once` : plural(forecasts.nRows, "row");
  const figure = plot({
    renderer: cloud ? "canvas" : "svg",
    size: "square",
    label: () => `Actual values against the forecasts of ${spoken(models[k])}; the numbers are in the table below.`,
    caption: () => `${cloud ? `Small points: ${sampled}. ` : ""}Large points: means of tenths of all rows, by forecast, with 90 % intervals of the mean. Dashed: forecast and actual value agree.`,
    spec: () => forecastSpec(points(), binsOf(), axes, cloud),
    about: (datum) => {
      if (datum.n !== undefined) {
        return [`Mean of ${plural(datum.n, "row")}`, [["forecast", text(datum.f)], ["actual", text(datum.a)], ["90 % interval", `${text(datum.lo)} to ${text(datum.hi)}`]]];
      }
      if (datum.i === undefined) return null;
      return [`Row ${row()[datum.i]}`, [["step", el("bdi", {}, steps[step()[datum.i]])], ["forecast", text(datum.f)], ["actual", text(datum.a)]]];
    },
  });
  const table = numbers("The numbers of this figure", () => ({
    head: ["Tenth of the rows", "Mean forecast", "Mean actual", "90 % interval", "Rows"],
    rows: binsOf().map((bin, i) => [String(i + 1), text(bin.f), text(bin.a), `${text(bin.lo)} to ${text(bin.hi)}`, count(bin.n)]),
  }));
  const pick = choice("Model", order.map((i) => models[i]), 0, (i) => {
    k = order[i];
    figure.draw();
    table.draw();
  });
  section("forecasts", "Forecasts and outcomes", el("div", { class: "tools" }, pick.node), figure.node, table.node);
}
