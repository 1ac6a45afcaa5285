// One category: its keywords, confidence, similar categories and texts, and the forms to correct it.

const BORDERLINE = 5; // number of borderline texts
let current = null; // the category that is shown

function showCategory(id = current) {
  const c = now.categories.get(id) ?? now.labels[0]?.children[0];
  if (!c) return;
  current = c.id;
  if (textList?.of !== c.id) textList = newTextList(c.id);
  const label = now.labels[c.label];
  $("view-category").replaceChildren(
    el("p", { class: "eyebrow" }, user(label.name), ` · category ${c.id}`, c.namer ? ` · named by ${c.namer}` : ""),
    el("div", { class: "title" }, el("h2", { id: "category-title" }, badge(c), user(c.name)), categoryMenu(c)),
    c.difference ? el("p", { class: "note" }, user(c.difference)) : "",
    el(
      "dl",
      { class: "tiles four" },
      tile("Texts", c.size === c.total ? formatNumber(c.size) : `${formatNumber(c.size)} of ${formatNumber(c.total)}`),
      tile("Share of the label", meter(c.size / label.size)),
      tile("Mean confidence", meter(c.confidence)),
      tile("Stability", meter(c.stability)),
    ),
    c.recut ? recutNote(label) : correctionForms(c, label),
    el(
      "div",
      { class: "pair" },
      card("Keywords", listOf("chips", c.keywords), el("h3", {}, "Could be confused with"), confusions(c)),
      !c.recut && card("Confidence of the texts", histogram(c)),
      columnCard(c),
      card("Representative texts", listOf("texts", c.examples)),
      !c.recut && card("Borderline texts", el("ul", { class: "texts doubtful" }, c.members.slice(-BORDERLINE).reverse().map(borderlineItem))),
    ),
    el("section", { class: "card", id: "texts", "aria-label": "All texts" }),
  );
  showTexts(c, label);
}

const borderlineItem = (i) =>
  el("li", { dir: "auto" }, data.texts[i], " ", el("span", { class: "count" }, percent(data.confidence[i] / 100)));

const tile = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));

/** A menu to go to another category. */
function categoryMenu(c) {
  const select = el(
    "select",
    { id: "go", onchange: () => (location.hash = `category-${select.value}`) },
    now.labels.map((label) =>
      el(
        "optgroup",
        { label: label.name },
        label.children.map((other) => el("option", { value: other.id, selected: other.id === c.id }, other.name)),
      ),
    ),
  );
  return el("label", {}, "Go to ", select);
}

function correctionForms(c, label) {
  const message = el("p", { class: "problem", role: "alert" });
  const attempt = async (correction) => (message.textContent = await addCorrection(correction));
  const split = ({ id }, number) => attempt({ do: "split", category: id, into: number });
  const parts = el("div", { id: "parts", "aria-live": "polite" });
  const name = el("input", { id: "new-name", value: c.name, maxlength: 120, autocomplete: "off" });
  const into = el("input", { id: "into", type: "number", min: 2, max: Math.max(2, c.total), placeholder: "auto" });
  const others = label.children.filter((other) => other !== c);
  const other = el(
    "select",
    { id: "other" },
    others.map((o) => el("option", { value: o.id }, `${o.name} (${formatNumber(o.total)})`)),
  );
  const submit = (work) => (event) => {
    event.preventDefault();
    work();
  };
  return el(
    "div",
    { class: "card correct" },
    el(
      "form",
      { class: "tools", onsubmit: submit(() => attempt({ do: "rename", category: c.id, name: name.value.trim() })) },
      el("label", {}, "Name ", name),
      el("button", {}, "Rename"),
    ),
    others.length > 0 &&
      el(
        "form",
        { class: "tools", onsubmit: submit(() => attempt({ do: "merge", categories: [c.id, Number(other.value)] })) },
        el("label", {}, "Merge with ", other),
        el("button", {}, "Merge"),
      ),
    c.total > 1 &&
      el(
        "form",
        { class: "tools", onsubmit: submit(() => (keeper.preview ?? split)(c, Number(into.value) || null, split, parts)) },
        el("label", {}, "Split into ", into),
        el("button", { disabled: Boolean(c.split) }, c.split ? "Split requested" : keeper.live ? "Preview" : "Request split"),
      ),
    parts,
    message,
  );
}

/** What to do before categories of a label with a new number can be corrected. */
const recutNote = (label) =>
  el(
    "p",
    { class: "card", id: "apply-first" },
    "You changed the number of categories of ",
    user(label.name),
    ...(keeper.live
      ? [". Keep the new number or go back, below; then you can correct these categories and see their confidences."]
      : [
          ". Apply this first: download the corrections, run ",
          el("code", {}, "subtaxa edit"),
          " and open the new report. There you can correct these categories and see their confidences.",
        ]),
  );

function confusions(c) {
  if (c.recut) return el("p", { class: "note" }, "Known once the new number of categories is applied.");
  const known = c.confused.filter(([id]) => now.categories.has(id));
  if (!known.length) return el("p", { class: "note" }, "No other category of this label is likely for its texts.");
  return el(
    "ul",
    { class: "plain" },
    known.map(([id, share]) => {
      const other = now.categories.get(id);
      return el(
        "li",
        {},
        badge(other),
        link(other),
        el("span", { class: "count" }, `${percent(share)} probability on average`),
      );
    }),
  );
}

/** The number of its texts by confidence, in steps of 10%. */
function histogram(c) {
  const bins = Array(10).fill(0);
  c.members.forEach((i) => (bins[Math.min(9, Math.floor(data.confidence[i] / 10))] += 1));
  const most = Math.max(...bins, 1);
  const bars = bins.map((n, i) =>
    svg(
      "rect",
      { class: "ink", x: 10 + 28 * i, width: 24, y: 96 - (88 * n) / most, height: (88 * n) / most },
      svg("title", {}, `${10 * i} to ${10 * i + 10}%: ${plural(n, "text")}`),
    ),
  );
  const marks = [0, 50, 100].map((at) => svg("text", { class: "x", x: 10 + 2.78 * at, y: 112 }, `${at}%`));
  const says = bins
    .map((n, i) => (n ? `${10 * i} to ${10 * i + 10}%: ${n}` : ""))
    .filter(Boolean)
    .join(", ");
  return el(
    "figure",
    { class: "chart" },
    svg(
      "svg",
      { viewBox: "0 0 300 118", role: "img", "aria-label": `Texts by confidence: ${says}` },
      svg("path", { class: "grid", d: "M6 96.5H294" }),
      bars,
      marks,
    ),
  );
}
