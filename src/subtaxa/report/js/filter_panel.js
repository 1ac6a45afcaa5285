// The bar with the filters that are set, and the panel to set them: one field for each column.

const BINS = 24; // bars of the histogram of numbers or dates
const FILTERED_VIEWS = new Set(["overview", "map", "treemap", "category", "columns", "similar"]);
const facets = []; // a function for each column that brings its field up to date; made when the panel is first opened

function listenForFilters() {
  $("filter").addEventListener("click", () => {
    openPanel($("facets").hidden);
    showFilters();
  });
  $("filter-clear").addEventListener("click", () => {
    clearFilters();
    $("filter").focus();
  });
}

function openPanel(open) {
  $("facets").hidden = !open;
  $("filter").setAttribute("aria-expanded", String(open));
}

function showFilters() {
  $("filters").hidden = !FILTERED_VIEWS.has(activeView());
  $("filter-clear").hidden = filters.size < 2;
  $("chips").replaceChildren(...[...filters].map(chip));
  const all = data.texts.length;
  const says = now.shown ? `${formatNumber(now.shown)} of ${plural(all, "text")}` : "No text passes all filters: remove one.";
  $("filtered").textContent = filters.size ? says : "";
  $("foreign").textContent = foreign.length ? `This run has no column ${foreign.map(quoted).join(", ")}, which the link asks for.` : "";
  $("filter-note").hidden = !filters.size;
  $("filters").classList.toggle("idle", !filters.size && $("facets").hidden && !foreign.length);
  const names = [...userColumns.slice(0, 5).map(({ name }) => name), userColumns.length ? "confidence" : "confidence or outliers"];
  $("filter-by").textContent = filters.size ? "" : `by ${names.join(", ")}${userColumns.length ? " …" : ""}`;
  if ($("facets").hidden) return;
  if (!facets.length) {
    const made = columns.map(facet);
    facets.push(...made.map(({ update }) => update));
    $("facets").replaceChildren(...made.map(({ node }) => node), leftOutNote());
  }
  for (const update of facets) update();
}

function chip([column, filter]) {
  const remove = () => {
    setFilter(column, null);
    $("filter").focus();
  };
  return el(
    "li",
    {},
    el("span", {}, user(column.name), ": ", user(filterWords(column, filter))),
    el("button", { type: "button", "aria-label": `Remove the filter of ${column.name}`, onclick: remove }, "×"),
  );
}

function leftOutNote() {
  const names = data.left_out.flatMap(([name, reason], at) => [at ? ", " : "", user(name), ` (${reason})`]);
  if (names.length) return el("p", { class: "note" }, "Columns that cannot be chosen here: ", ...names, ".");
  const none = "The input had no other columns. subtaxa discover keeps them all, unless --keep says otherwise.";
  return el("p", { class: "note" }, userColumns.length ? "" : none);
}

/** The field of a column: its node, and a function that updates it. */
function facet(column, number) {
  const missing = data.texts.some((_, i) => column.value(i) === null);
  const { nodes, update } = (column.values ? valueFacet : rangeFacet)(column, `facet${number}`, missing);
  return { node: el("fieldset", { class: "facet" }, el("legend", {}, user(column.name)), ...nodes), update };
}

/** A box for each value, with the number of its texts that pass the other filters. */
function valueFacet(column, id, missing) {
  const options = [...column.values.keys(), ...(missing ? [null] : [])].map((code) => {
    const box = el("input", { type: "checkbox", id: `${id}-${code}`, onchange: () => setFilter(column, chosen()) });
    const count = el("span", { class: "count" });
    const name = code === null ? el("i", {}, "no value") : user(column.values[code]);
    return { code, box, count, node: el("li", {}, el("label", {}, box, name), count) };
  });
  const ticked = () => options.filter(({ box }) => box.checked).map(({ code }) => code);
  const chosen = () => ({ codes: new Set(ticked().filter((code) => code !== null)), none: ticked().includes(null) });
  const update = () => {
    const counts = countBy(column, passingBut(column));
    const { codes, none } = filters.get(column) ?? {};
    for (const { code, box, count } of options) {
      box.checked = code === null ? Boolean(none) : Boolean(codes?.has(code));
      count.textContent = formatNumber(counts.get(code) ?? 0);
    }
  };
  return { nodes: [el("ul", { class: "values" }, options.map(({ node }) => node))], update };
}

/** The number of texts with each value of a column; a missing value is null. */
function countBy(column, passing) {
  const counts = new Map();
  for (let i = 0; i < data.texts.length; i++) {
    if (passing && !passing[i]) continue;
    const value = column.value(i);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

/** The first and last number or date, with a histogram of the texts that pass the other filters. */
function rangeFacet(column, id, missing) {
  const kind = column.kind === "date" ? "date" : "number";
  const all = sortedValues(column, data.texts.keys());
  const [first, last] = usualRange(all);
  const width = (last - first || 1) / BINS;
  const binOf = (value) => Math.min(BINS - 1, Math.floor((value - first) / width));
  const chart = svg("svg", { class: "histogram", viewBox: "0 0 240 40", preserveAspectRatio: "none", "aria-hidden": "true" });
  const problem = el("p", { class: "problem", role: "alert" });
  const take = () => {
    const [low, high] = [from, to].map(({ value }) => readEnd(column, value));
    const wrong = low !== null && high !== null && low > high;
    problem.textContent = wrong ? "The first is after the last." : "";
    if (!wrong) setFilter(column, { low, high, none: none.checked });
  };
  const end = (name) => el("input", { type: kind, id: `${id}-${name}`, step: kind === "number" ? "any" : null, onchange: take });
  const [from, to] = [end("from"), end("to")];
  const none = el("input", { type: "checkbox", id: `${id}-none`, onchange: take });
  const missed = el("span", { class: "count" });
  const update = () => {
    const filter = filters.get(column) ?? {};
    const { low = null, high = null } = filter;
    [from, to].forEach((input, at) => {
      const value = [low, high][at];
      input.value = value === null ? "" : writeEnd(column, value);
    });
    none.checked = Boolean(filter.none);
    const counts = countBy(column, passingBut(column));
    missed.textContent = formatNumber(counts.get(null) ?? 0);
    counts.delete(null);
    const bars = [new Float64Array(BINS), new Float64Array(BINS)]; // outside and inside the range
    const onlyNone = filter.none && low === null && high === null;
    for (const [value, n] of counts) {
      const inside = !onlyNone && (low === null || value >= low) && (high === null || value <= high);
      if (value >= first && value <= last) bars[Number(inside)][binOf(value)] += n;
    }
    const most = d3.max(bars[0], (n, at) => n + bars[1][at]) || 1;
    const path = (at) => bars[at].reduce((d, n, bin) => (n ? `${d}M${10 * bin} 40v${-(38 * n) / most - 1}h9v${(38 * n) / most + 1}z` : d), "");
    chart.replaceChildren(svg("path", { class: "track", d: path(0) }), svg("path", { class: "mark", d: path(1) }));
  };
  const nodes = [
    chart,
    el("p", { class: "count" }, `${column.write(all[0])} to ${column.write(all.at(-1))}`),
    el("div", { class: `ends ${kind}` }, el("label", {}, "from ", from), el("label", {}, "to ", to)),
    missing && el("div", { class: "values" }, el("label", {}, none, el("i", {}, "no value")), missed),
    problem,
  ];
  return { nodes: nodes.filter(Boolean), update };
}
