// Small helpers. Everything from the user's data goes into the page as text nodes, never as markup.

const $ = (id) => document.getElementById(id);

/** An element with attributes, listeners (onclick: …) and children; strings become text nodes. */
function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Text from the user, isolated so that its writing direction cannot affect its surroundings. */
const user = (text) => el("bdi", { dir: "auto" }, text);

const inEnglish = new Intl.NumberFormat("en"); // Made once: making one takes longer than drawing a row.
const formatNumber = (n) => inEnglish.format(n);
const plural = (n, one, many = `${one}s`) => `${formatNumber(n)} ${n === 1 ? one : many}`;
const quoted = (name) => `“\u2068${name}\u2069”`;

function percent(share) {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  if (share > 0 && share < 0.005) return "<1%";
  return share >= 0.995 && share < 1 ? ">99%" : `${Math.round(100 * share)}%`;
}

/** A percentage with a bar below it. */
function meter(share, colour = "ink") {
  const width = `${(100 * Math.min(1, Math.max(0, share || 0))).toFixed(2)}%`;
  return [
    percent(share),
    svg(
      "svg",
      { class: "meter", width: "100%", height: 4, "aria-hidden": "true" },
      svg("rect", { class: "track", width: "100%", height: 4, rx: 2 }),
      svg("rect", { class: colour, width, height: 4, rx: 2 }),
    ),
  ];
}

const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : NaN);

/** The number of a category within its label, in its colour. */
const badge = (c) => el("span", { class: `badge k${c.colour}`, "aria-hidden": "true" }, String(c.number));

const link = (c) => el("a", { href: `#category-${c.id}` }, user(c.name));

/** Texts or keywords as a list. */
const listOf = (kind, texts) =>
  el(
    "ul",
    { class: kind },
    texts.map((text) => el("li", { dir: "auto" }, text)),
  );

const card = (title, ...content) => el("section", { class: "card" }, el("h3", {}, title), ...content);

/** A function that runs `work` once it has not been called for `wait` milliseconds. */
function debounce(work, wait) {
  let waiting = 0;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(work, wait);
  };
}
