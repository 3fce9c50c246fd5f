// The parts of the page, in their order; a part without data is left out.

function modelSentence(model) {
  const are = model.included === 1 ? "is" : "are";
  if (model.noun === "word") {
    return `${count(model.included)} of ${count(model.total)} pairs of an effect and a word ${are} in the model, over ${plural(model.steps.length, "step")}.`;
  }
  const what = model.grouped ? `pairs of a ${model.groupNoun} and a ${model.noun}` : `${model.noun}s`;
  const of = (kind) => model.counts.find((each) => each.kind === kind).n;
  const tail = model.steps.length === 1 || model.included === 0 ? "." : `: ${count(of("static"))} constant over time, ${count(of("drifting"))} drifting, of which ${count(of("sign-flip"))} change sign, ${count(of("undecided"))} undecided${of("seasonal") === 0 ? "" : `, ${count(of("seasonal"))} seasonal`}.`;
  const shared = of("shared") === 0 ? "" : ` ${count(of("shared"))} more have an effect by the shared directions only.`;
  return `${count(model.included)} of ${count(model.total)} ${what} ${are} in the model${tail}${shared}`;
}

function build() {
  const top = el("div");
  main.append(top);
  if (report.story) storySection(report.story);
  if (report.comparison) {
    comparisonSection(report.comparison);
    if (report.comparison.forecasts) forecastSection(report.comparison);
  }
  if (report.model) modelSections(readModel(report.model), report.fit);
  section("settings", "Settings and versions", el("div", { class: "facts" }, report.facts.map((part) => el("div", {},
    el("h3", {}, el("bdi", {}, part.title)),
    el("dl", {}, part.rows.map(([key, value]) => [el("dt", {}, named(key)), el("dd", {}, value === "" ? "–" : el("bdi", {}, value))]))))));
  if (report.sentence) top.append(el("p", { class: "sentence", dir: "auto" }, report.sentence));
  if (report.comparison) top.append(el("p", { class: "lead" }, sentence(report.comparison.headline)));
  if (report.model) top.append(el("p", { class: report.comparison ? null : "lead" }, modelSentence(report.model)));
  top.append(el("nav", { "aria-label": "Parts of this report" },
    el("ul", {}, sections.map(([id, title]) => el("li", {}, el("a", { href: `#${id}` }, title))))));
  document.documentElement.dataset.ready = "yes";
  performance.mark("report-ready");
}

build();
