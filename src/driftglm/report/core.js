"use strict";
// The page's content, and small tools: nodes, numbers, the theme. Text from outside reaches the
// page as text nodes and attribute values only, never as markup, code, keys or field names.

const report = JSON.parse(document.getElementById("report-data").textContent);
const main = document.getElementById("content");
const NAMESPACE = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}

function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(NAMESPACE, tag), attributes, children);
}

// A name from outside, kept apart from the direction of the text around it.
function named(label) {
  return label.trim() === "" ? el("i", { class: "none" }, "(no name)") : el("bdi", {}, label);
}

function spoken(label) {
  return label.trim() === "" ? "(no name)" : label;
}

// Sentences come as text and, in lists of one, names.
function sentence(parts) {
  return parts.map((part) => (Array.isArray(part) ? named(part[0]) : part));
}

function bytes(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text).buffer;
  const letters = atob(text);
  const out = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) out[i] = letters.charCodeAt(i);
  return out.buffer;
}

// Decoded when first asked for: most of a large page's numbers are never looked at.
function lazily(text, Kind) {
  let found = null;
  return () => {
    found ??= text === null || text === undefined ? null : new Kind(bytes(text));
    return found;
  };
}

function numberText(value, decimals) {
  if (value === null || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  let text = value.toFixed(decimals);
  const tiny = value !== 0 && Math.abs(value) < 0.5 * 10 ** -decimals;
  if (tiny || Math.abs(value) >= 1e7) text = value.toExponential(1);
  return text.replaceAll("-", "−").replace("e+", "e");
}

// Decimals that show three significant digits of a typical value.
function decimalsFor(values) {
  const sizes = Array.from(values, Math.abs).filter((v) => v > 0 && Number.isFinite(v));
  if (sizes.length === 0) return 3;
  sizes.sort((a, b) => a - b);
  const typical = sizes[Math.floor(sizes.length / 2)];
  return Math.min(8, Math.max(0, 2 - Math.floor(Math.log10(typical))));
}

// A number as text, with the decimals that suit some values.
function textFor(values) {
  const decimals = decimalsFor(values.filter((v) => v !== null));
  return (value) => numberText(value, decimals);
}

function count(n) {
  return n.toLocaleString("en");
}

function plural(n, noun) {
  return `${count(n)} ${noun}${n === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// A part of the page with a heading; null children are left out.
const sections = [];
function section(id, title, ...children) {
  const node = el("section", { id, "aria-labelledby": `${id}-title` });
  node.append(el("h2", { id: `${id}-title` }, title));
  node.append(...children.flat().filter((child) => child !== null));
  main.append(node);
  sections.push([id, title]);
  return node;
}

function scroller(label, table) {
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: 0 }, table);
}

function choice(label, options, selected, changed) {
  const select = el("select");
  options.forEach((text, i) => {
    // Long names would make the list wider than the page.
    const short = text.length > 60 ? `${text.slice(0, 59)}…` : text;
    select.append(el("option", { value: i, selected: i === selected, title: text }, spoken(short)));
  });
  select.addEventListener("change", () => changed(Number(select.value)));
  return { node: el("label", {}, label, select), select };
}

// A table of plain numbers, made when its reader asks for it.
function numbers(title, make) {
  const box = el("details", {}, el("summary", {}, title));
  let shown = null;
  const draw = () => {
    if (!box.open) return;
    const { head, rows } = make();
    const heading = head.map((text) => el("th", { scope: "col" }, text));
    const body = rows.map(([first, ...cells]) =>
      el("tr", {}, el("th", { scope: "row" }, first), cells.map((cell) => el("td", {}, cell))));
    const table = el("table", {}, el("thead", {}, el("tr", {}, heading)), el("tbody", {}, body));
    const next = scroller(title, table);
    if (shown === null) box.append(next);
    else shown.replaceWith(next);
    shown = next;
  };
  box.addEventListener("toggle", draw);
  return { node: box, draw };
}

// ------------------------------------------------------------------------------------- theme

const themeChanged = [];
const themeButton = document.getElementById("theme");
const systemDark = matchMedia("(prefers-color-scheme: dark)");
let themeChosen = false;

function setTheme(theme) {
  const dark = theme === "dark";
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = dark ? "Switch to light" : "Switch to dark";
  themeChanged.forEach((act) => act());
}

themeButton.addEventListener("click", () => {
  themeChosen = true;
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
});
systemDark.addEventListener("change", () => {
  if (!themeChosen) setTheme(systemDark.matches ? "dark" : "light");
});
setTheme(document.documentElement.dataset.theme);

// Paper is white, and shows parts that nobody has scrolled to.
const toPrint = [];
let onScreen = null;
addEventListener("beforeprint", () => {
  onScreen = document.documentElement.dataset.theme;
  if (onScreen === "dark") setTheme("light");
  toPrint.forEach((act) => act());
});
addEventListener("afterprint", () => {
  if (onScreen === "dark") setTheme("dark");
});
