// The treemap: each label is a frame, each category a tile whose area is its number of texts.

const FRAME = 24; // pixels for the name of a label
const LINE = 18; // pixels for a line of a tile
const NARROW = 90; // pixels below which a name is cut instead of broken
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function showTreemap() {
  fillColourMenu($("treemap-colour"));
  const box = $("tiles");
  const { width, height } = box.getBoundingClientRect();
  const labels = now.labels.map((label, number) => ({ ...label, number })).filter(({ size, number }) => size && (focus.label === null || focus.label === number));
  const tree = d3.hierarchy({ labels }, (node) => node.labels ?? node.children?.filter((c) => c.size));
  tree.sum(({ id, size }) => (id === undefined ? 0 : size)).sort((a, b) => b.value - a.value);
  const room = d3.treemap().size([width, height]).paddingInner(2).paddingTop(({ depth }) => (depth === 1 ? FRAME : 0)).round(true);
  const colours = colouring();
  const focused = document.activeElement?.id;
  box.replaceChildren(...room(tree).descendants().filter(({ depth }) => depth).map((node) => (node.depth === 1 ? labelFrame(node) : categoryTile(node, colours))));
  if (/^(tile|frame)\d+$/.test(focused)) $(focused)?.focus();
  if (!labels.length) box.replaceChildren(el("p", { class: "note" }, "No text passes all filters."));
  $("treemap-back").hidden = focus.label === null;
  $("treemap-key").replaceChildren(...keyItems(colours));
}

function placed(node, { x0, y0, x1, y1 }) {
  Object.assign(node.style, { left: `${x0}px`, top: `${y0}px`, width: `${x1 - x0}px`, height: `${y1 - y0}px` });
  return node;
}

/** The frame of a label. Its name shows only this label, or all labels again. */
function labelFrame(node) {
  const { name, number, size, children } = node.data;
  const only = focus.label === number;
  const says = `${plural(size, "text")} in ${plural(children.filter((c) => c.size).length, "category", "categories")}`;
  const toggle = el(
    "button",
    { type: "button", id: `frame${number}`, title: only ? "Show all labels" : "Show only this label", onclick: () => chooseLabel(only ? null : number) },
    user(name),
    el("span", { class: "count" }, ` ${says}`),
  );
  return placed(el("div", { class: "frame" }, toggle), node);
}

function categoryTile(node, colours) {
  const { data: c, x0, x1, y0, y1 } = node;
  const { look, says } = tileLook(c, colours);
  const share = `${percent(c.size / now.labels[c.label].size)} of ${data.labels[c.label]}`;
  const about = `${c.name}: ${plural(c.size, "text")}, ${share}${says && `; ${says}`}`;
  const lines = x1 - x0 > 40 ? Math.floor((y1 - y0 - 4) / LINE) : 0;
  const opened = selection?.category === c.id;
  const name = el("b", {}, user(c.name));
  if (x1 - x0 < NARROW) name.classList.add("cut");
  else name.style.webkitLineClamp = String(Math.max(1, lines - (says ? 2 : 1)));
  const part = el(
    "a",
    { href: `#category-${c.id}`, id: `tile${c.id}`, class: opened ? "opened" : "", "aria-label": about, title: about, "aria-current": opened ? "true" : null },
    lines > 0 && name,
    lines > 1 && el("span", {}, formatNumber(c.size)),
    lines > 2 && says && el("span", {}, user(says)),
  );
  Object.assign(part.style, { background: look.colour, color: textOn(look.colour) });
  return placed(part, node);
}

/** The colour of a category: its own, that of its label, or that of its most frequent or middle group of values. */
function tileLook(c, { of, look, names, column }) {
  if (!column) return { look: look(of(c.members[0])), says: "" };
  const groups = c.members.map(of).filter((group) => group >= 0).sort((a, b) => a - b);
  if (!groups.length) return { look: look(-1), says: "no value" };
  if (column.kind !== "category") {
    const values = d3.sort(c.members.map(column.value).filter((value) => value !== null));
    const middle = values[Math.floor(values.length / 2)];
    return { look: look(groups[Math.floor(groups.length / 2)]), says: `median ${column.write(middle)}` };
  }
  const [group, n] = d3.greatest(d3.rollup(groups, (list) => list.length, (g) => g), (a, b) => a[1] - b[1] || b[0] - a[0]);
  return { look: look(group), says: `${percent(n / c.size)} ${names[group]}` };
}

function chooseLabel(number) {
  focus.label = number;
  visit();
}

/** Let the arrow keys move the focus to the next tile in their direction. */
function moveInTreemap(event) {
  const step = KEYS[event.key];
  const from = event.target.closest("#tiles a, #tiles button");
  if (!step || !from) return;
  event.preventDefault();
  const middle = (node) => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  const [x, y] = middle(from);
  const distance = (node) => {
    const [dx, dy] = [middle(node)[0] - x, middle(node)[1] - y];
    const ahead = dx * step[0] + dy * step[1];
    return ahead > 1 ? ahead + 3 * Math.abs(dx * step[1] + dy * step[0]) : Infinity;
  };
  const next = d3.least([...$("tiles").querySelectorAll("a, button")], distance);
  if (next && distance(next) < Infinity) next.focus();
}

function listenToTreemap() {
  $("tiles").addEventListener("keydown", moveInTreemap);
  $("treemap-colour").addEventListener("change", ({ target }) => chooseColour(target.value));
  $("treemap-back").addEventListener("click", () => chooseLabel(null));
  $("treemap-tools").addEventListener("submit", (event) => event.preventDefault());
  const redraw = debounce(() => activeView() === "treemap" && showTreemap(), 100);
  addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
