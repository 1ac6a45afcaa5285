// All labels with their categories: a bar, and below it a table that can be sorted, searched and collapsed.

const folded = new Set(); // labels whose table is collapsed
const ORDERS = {
  size: (a, b) => b.size - a.size || a.number - b.number,
  name: (a, b) => a.name.localeCompare(b.name),
  stability: (a, b) => (a.stability ?? 2) - (b.stability ?? 2) || b.size - a.size,
  confidence: (a, b) => a.confidence - b.confidence || b.size - a.size,
};

function showOverview() {
  $("count").textContent = formatNumber(now.categories.size);
  $("found").textContent = plural(now.categories.size, "category", "categories");
  const query = $("search").value.trim();
  const hits = new Map(); // number of matching texts by category
  for (const i of textsWith(query)) hits.set(now.categoryOf[i], (hits.get(now.categoryOf[i]) || 0) + 1);
  const terms = query.toLowerCase().split(/\s+/).filter(Boolean);
  const named = (c) => {
    const about = [c.name, data.labels[c.label], ...c.keywords].join(" ").toLowerCase();
    return terms.every((term) => about.includes(term));
  };
  let shown = 0;
  const parts = now.labels.map((label, number) => {
    const children = label.children.filter((c) => !terms.length || hits.has(c.id) || named(c));
    shown += children.length;
    return children.length ? labelCard(label, number, children.sort(ORDERS[$("sort").value]), hits) : null;
  });
  $("matches").textContent = terms.length
    ? `${plural(shown, "category", "categories")} and ${plural(
        [...hits.values()].reduce((a, b) => a + b, 0),
        "text",
      )} match.`
    : "";
  $("fold").textContent = folded.size === data.labels.length ? "Expand all" : "Collapse all";
  $("tree").replaceChildren(...parts.filter(Boolean));
}

function labelCard(label, number, children, hits) {
  const open = !folded.has(number);
  const toggle = el(
    "button",
    {
      type: "button",
      class: "fold",
      "aria-expanded": String(open),
      "aria-controls": `label${number}`,
      onclick: () => {
        folded[open ? "add" : "delete"](number);
        showOverview();
        $("tree").querySelector(`[aria-controls="label${number}"]`)?.focus();
      },
    },
    user(label.name),
  );
  const facts = `${plural(label.size, "text")} in ${plural(label.children.length, "category", "categories")} · ${percent(label.size / data.texts.length)} of all texts`;
  return el(
    "section",
    { class: "card label" },
    el("div", { class: "label-head" }, el("h3", {}, toggle), el("p", { class: "facts" }, facts)),
    bar(label),
    el("div", { id: `label${number}`, class: "scroll", hidden: !open }, open ? categoryTable(label, children, hits) : null),
  );
}

/** The label as one bar, divided by the sizes of its categories. */
function bar(label) {
  const parts = label.children
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
  return el("div", { class: "bar" }, parts);
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
