// All labels with their categories: a bar, and below it a table that can be sorted, searched and collapsed.

const folded = new Set(); // labels whose table is collapsed
const labelCards = [];
let drawing = 0; // the timer for the cards that are drawn later
const ORDERS = {
  size: (a, b) => b.size - a.size || a.number - b.number,
  name: (a, b) => a.name.localeCompare(b.name),
  stability: (a, b) => (a.stability ?? 2) - (b.stability ?? 2) || b.size - a.size,
  confidence: (a, b) => (a.confidence ?? 2) - (b.confidence ?? 2) || b.size - a.size,
};

function showOverview() {
  const query = $("search").value.trim();
  const hits = new Map(); // number of matching texts by category
  for (const i of textsWith(query)) hits.set(now.categoryOf[i], (hits.get(now.categoryOf[i]) || 0) + 1);
  const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  const named = (c) => {
    const about = [c.name, data.labels[c.label], ...c.keywords].join(" ").toLowerCase();
    return terms.every((term) => about.includes(term));
  };
  let shown = 0;
  if (!labelCards.length) {
    labelCards.push(...data.labels.map(labelCard));
    $("tree").replaceChildren(...labelCards.map(({ card }) => card));
  }
  const late = sliding ? labelCards.map(({ card }) => !isOnScreen(card)) : [];
  const later = [];
  now.labels.forEach((label, number) => {
    const children = label.children.filter((c) => (!passing || c.size) && (!terms.length || hits.has(c.id) || named(c)));
    shown += children.length;
    const fill = () => fillCard(labelCards[number], label, number, children.sort(ORDERS[$("sort").value]), hits);
    if (late[number]) later.push(fill);
    else fill();
  });
  drawLater(later);
  $("matches").textContent = terms.length
    ? `${plural(shown, "category", "categories")} and ${plural(
        [...hits.values()].reduce((a, b) => a + b, 0),
        "text",
      )} match.`
    : "";
  $("fold").textContent = folded.size === data.labels.length ? "Expand all" : "Collapse all";
}

function isOnScreen(node) {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** Draw cards that are not on the screen once a slider rests, so that it moves smoothly. */
function drawLater(fills) {
  clearTimeout(drawing);
  const next = () => {
    fills.shift()?.();
    if (fills.length) drawing = setTimeout(next);
  };
  drawing = setTimeout(next, 120);
}

/** The card of a label without its contents. It is made once, so that its slider and its button keep the focus. */
function labelCard(name, number) {
  const toggle = el("button", { type: "button", class: "fold", "aria-controls": `label${number}` }, user(name));
  toggle.addEventListener("click", () => {
    folded[folded.has(number) ? "delete" : "add"](number);
    showOverview();
  });
  const facts = el("p", { class: "facts" });
  const parts = el("div", { class: "bar" });
  const table = el("div", { id: `label${number}`, class: "scroll" });
  const head = el("div", { class: "label-head" }, el("h3", {}, toggle), facts);
  return { card: el("section", { class: "card label" }, head, forest && slider(number), parts, table), toggle, facts, parts, table };
}

/** Draw what has changed in the card of a label. */
function fillCard({ card, toggle, facts, parts, table }, label, number, children, hits) {
  const open = !folded.has(number) && children.length > 0;
  card.hidden = !children.length;
  toggle.setAttribute("aria-expanded", String(open));
  facts.textContent = `${plural(label.size, "text")} in ${plural(label.children.filter((c) => !passing || c.size).length, "category", "categories")} · ${percent(label.size / now.shown)} of all ${passing ? "shown " : ""}texts`;
  parts.replaceChildren(...(children.length ? bar(label) : []));
  table.hidden = !open;
  table.replaceChildren(...(open ? [categoryTable(label, children, hits)] : []));
}

/** The parts of the bar of a label, divided by the sizes of its categories. */
function bar(label) {
  return label.children
    .filter((c) => c.size)
    .map((c) => {
      const share = c.size / label.size;
      const part = el(
        "a",
        {
          href: `#category-${c.id}`,
          class: `k${c.colour}`,
          tabindex: -1,
          "aria-hidden": "true",
          title: `${c.number} · \u2068${c.name}\u2069 · ${plural(c.size, "text")}`,
        },
        share >= 0.05 ? String(c.number) : "",
      );
      part.style.flexGrow = String(c.size);
      return part;
    });
}

function categoryTable(label, children, hits) {
  const head = ["Category", "Texts", "Confidence", "Stability", "Keywords"];
  const rows = children.flatMap((c) => [
    el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        badge(c),
        link(c),
        c.split ? el("span", { class: "flag" }, "split requested") : null,
        hits.has(c.id) ? el("span", { class: "flag" }, plural(hits.get(c.id), "match", "matches")) : null,
      ),
      el("td", {}, formatNumber(c.size)),
      el("td", {}, meter(c.confidence)),
      el("td", {}, meter(c.stability)),
      el("td", { class: "words" }, user(c.keywords.slice(0, 6).join(", "))),
    ),
    el("tr", { class: "printed" }, el("td", { colspan: 5 }, listOf("texts", c.examples.slice(0, 3)))),
  ]);
  return el(
    "table",
    { class: "tree", "aria-label": `Categories of ${label.name}` },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        head.map((name) => el("th", { scope: "col" }, name)),
      ),
    ),
    el("tbody", {}, rows),
  );
}

/** Let the arrow keys move the focus from one category of the tree to the next. */
function moveFocus(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const stops = [...$("tree").querySelectorAll("button.fold, th a")];
  const at = stops.indexOf(document.activeElement);
  if (!step || at < 0) return;
  event.preventDefault();
  stops[Math.min(Math.max(at + step, 0), stops.length - 1)].focus();
}
