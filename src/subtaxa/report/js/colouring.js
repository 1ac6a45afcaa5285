// What the colours of the map and of the treemap show: labels, categories, or the groups of values of a column.

const MOST_COLOURS = 16; // groups of a column of categories with a colour and shape of their own
const SHAPES = ["round", "square", "diamond"]; // after eight labels the colours repeat with the next shape

/** A dark page needs lighter ends of the scale, a light page darker ones. */
function scaleColour(share) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return d3.interpolateViridis(dark ? 0.2 + 0.8 * share : 0.92 * share);
}

/** The groups of the chosen colours: `of` gives the group of a text, and `looks` the colour and shape of each group. */
function colouring() {
  if (focus.colour === "category") return { of: (i) => now.categories.get(now.categoryOf[i]).colour, look: byNumber, names: [] };
  if (focus.colour === "label") return { of: (i) => now.categories.get(now.categoryOf[i]).label, look: byNumber, names: data.labels };
  const groups = groupsOf(focus.colour, MOST_COLOURS);
  return { ...groups, look: (group) => groupLook(groups, group), column: focus.colour };
}

const noLook = () => ({ colour: style("--edge"), shape: "round", none: true });

/** The colour and shape of a group of values; -1 is the group of those without a value. */
function groupLook({ names, ordered, pooled }, group) {
  const last = names.length - 1;
  if (group < 0) return noLook();
  if (ordered) return { colour: scaleColour(last ? group / last : 0.5), shape: "round" };
  return pooled && group === last ? { ...byNumber(COLOURS - 1), shape: "diamond" } : byNumber(group);
}

const byNumber = (number) => ({ colour: paletteColour(number % COLOURS), shape: SHAPES[Math.floor(number / COLOURS) % SHAPES.length] });

const palette = new Map(); // the colours k0 to k7 of page.css

function paletteColour(number) {
  if (!palette.has(number)) {
    const probe = document.body.appendChild(el("i", { class: `k${number}` }));
    palette.set(number, style("--k", probe));
    probe.remove();
  }
  return palette.get(number);
}

/** Black or white, whichever is easier to read on a colour. */
function textOn(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#000000" : "#ffffff";
}

/** A small sign with a colour and shape, as it is in the key. */
const sign = ({ colour, shape }) =>
  svg(
    "svg",
    { viewBox: "-5 -5 10 10", width: 11, height: 11, fill: colour, "aria-hidden": "true" },
    {
      round: svg("circle", { r: 4.5 }),
      square: svg("rect", { x: -4, y: -4, width: 8, height: 8 }),
      diamond: svg("path", { d: "M0-5 5 0 0 5-5 0Z" }),
    }[shape],
  );

/** The key: the labels or groups of values. Categories have too few colours for a key, unless they are of one label. */
function keyItems({ names, look, column }) {
  if (focus.colour === "category") return focus.label === null ? [] : now.labels[focus.label].children.map((c) => keyItem(byNumber(c.colour), c.name));
  const items = names.map((name, group) => keyItem(look(group), name));
  if (!column) return items.filter((_, label) => focus.label === null || label === focus.label);
  return data.texts.some((_, i) => column.value(i) === null) ? [...items, keyItem(look(-1), "no value")] : items;
}

const keyItem = (look, name) => el("li", {}, sign(look), user(name));

/** The menu of what colours show. */
function fillColourMenu(menu) {
  const option = (value, name) => el("option", { value, selected: value === colourKey() }, name);
  menu.replaceChildren(
    option("label", "label"),
    option("category", "category"),
    el("optgroup", { label: "columns" }, columns.map((column, at) => option(`column${at}`, column.name))),
  );
}

const colourName = () => (typeof focus.colour === "string" ? focus.colour : `“\u2068${focus.colour.name}\u2069”`);

const colourKey = () => (typeof focus.colour === "string" ? focus.colour : `column${columns.indexOf(focus.colour)}`);

function chooseColour(value) {
  focus.colour = /^column\d+$/.test(value) ? columns[Number(value.slice(6))] : value;
  visit();
}
