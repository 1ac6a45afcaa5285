// Counts by a column: of categories and values as a table with bars. Dates are counted over time (time.js).

const MOST_VALUES = 10; // values of a column of categories in the table; the others are counted together
const CHANCE = 0.05; // the share of marked findings that may be chance

/** The column that counts and colours show. Without a choice, the first date or else the first column. */
const countedColumn = () => (typeof focus.colour === "string" ? (userColumns.find(({ kind }) => kind === "date") ?? userColumns[0] ?? columns[0]) : focus.colour);

function showColumns() {
  const column = countedColumn();
  $("counted").replaceChildren(...columnOptions(column));
  const isDate = column.kind === "date";
  $("time-tools").hidden = !isDate;
  if (isDate) showTime(column);
  else $("counts").replaceChildren(...countCards(column));
}

function listenToColumns() {
  $("counted").addEventListener("change", ({ target }) => chooseColour(target.value));
  $("columns-tools").addEventListener("submit", (event) => event.preventDefault());
  listenToTime();
}

const columnOptions = (chosen) => columns.map((column, at) => el("option", { value: `column${at}`, selected: column === chosen }, column.name));

/** The groups of values, with a group for missing values if there are any. */
function countGroups(column) {
  const groups = groupsOf(column, MOST_VALUES);
  const { names, of } = groups;
  const missing = data.texts.some((_, i) => column.value(i) === null);
  const looks = names.map((_, group) => groupLook(groups, group));
  if (!missing) return { names, of, looks, none: -1 };
  return { names: [...names, "no value"], of: (i) => (of(i) < 0 ? names.length : of(i)), looks: [...looks, groupLook(groups, -1)], none: names.length };
}

function countsOf(members, groups) {
  const counts = Array(groups.names.length).fill(0);
  for (const i of members) counts[groups.of(i)] += 1;
  return counts;
}

/** A card for each label: its categories, and the number of their texts with each value. */
function countCards(column) {
  const groups = countGroups(column);
  const rows = now.labels.flatMap(({ children }) => children.filter((c) => c.size).map((c) => ({ c, counts: countsOf(c.members, groups) })));
  const totals = groups.names.map((_, at) => d3.sum(rows, ({ counts }) => counts[at]));
  markFrequent(rows, totals);
  const shown = now.labels.filter(({ size }) => size);
  const ofLabel = (label) => rows.filter(({ c }) => label.children.includes(c));
  const sums = shown.map((label) => ({ c: label, counts: totals.map((_, at) => d3.sum(ofLabel(label), ({ counts }) => counts[at])) }));
  markFrequent(sums, totals);
  const card = (name, of, some) =>
    el(
      "section",
      { class: "card counted" },
      el("div", { class: "label-head" }, el("h3", {}, user(name)), el("p", { class: "facts" }, plural(d3.sum(some, ({ c }) => c.size), "text"))),
      el(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": `Counts of ${name}` },
        el("table", { class: "numbers" }, countHead(of, groups), el("tbody", {}, some.map((row) => countRow(row, groups)))),
      ),
    );
  return [
    el("p", { class: "note" }, "The number of texts of each category with each value of ", user(column.name), ". ", el("b", { class: "often" }, "▲ Marked numbers"), " are clearly higher than the share of the value in all shown texts explains: at most about one mark in twenty is chance (exact binomial tests, Benjamini-Hochberg)."),
    shown.length ? card("All labels", "Label", sums) : el("p", { class: "note" }, "No text passes all filters."),
    ...shown.map((label) => card(label.name, "Category", ofLabel(label))),
  ];
}

/** Mark the counts that are higher than chance explains. */
function markFrequent(rows, totals) {
  const all = d3.sum(totals);
  const chances = rows.flatMap(({ c, counts }) => counts.map((n, at) => atLeast(n, c.size, totals[at] / all)));
  const marked = beyondChance(chances, CHANCE);
  rows.forEach((row, at) => (row.often = marked.slice(at * totals.length, (at + 1) * totals.length)));
}

function countHead(of, { names, none, looks }) {
  const head = (...content) => el("th", { scope: "col" }, ...content);
  const values = names.map((name, at) => head(sign(looks[at]), " ", at === none ? el("i", {}, name) : user(name)));
  return el("thead", {}, el("tr", {}, head(of), head("Texts"), head(el("span", { class: "hidden" }, "Shares")), values));
}

/** The row of a category or of a label. */
function countRow({ c, counts, often }, { names, looks }) {
  const cell = (n, at) =>
    el("td", { class: often[at] ? "often" : n ? "" : "zero", title: `${percent(n / c.size)} of ${c.name}: ${names[at]}` }, often[at] ? el("span", { role: "img", "aria-label": "clearly more: " }, "▲ ") : "", formatNumber(n));
  return el("tr", {}, el("th", { scope: "row" }, c.id === undefined ? user(c.name) : [badge(c), link(c)]), el("td", {}, formatNumber(c.size)), el("td", { class: "shares" }, shareBar(counts, looks)), counts.map(cell));
}

/** A card for the page of a category: its texts by the chosen column, compared with all shown texts. */
function columnCard(c) {
  if (!userColumns.length) return "";
  const column = countedColumn();
  const menu = el("select", { id: "category-column", onchange: () => chooseColour(menu.value) }, columnOptions(column));
  const head = el("div", { class: "label-head" }, el("h3", {}, "Texts by column"), el("label", {}, "Column ", menu));
  return el("section", { class: "card" }, head, column.kind === "date" ? dateBars(c, column) : groupBars(c, column));
}

function groupBars(c, column) {
  const groups = countGroups(column);
  const [own, all] = [c.members, now.labels.flatMap(({ children }) => children.flatMap(({ members }) => members))].map((members) => countsOf(members, groups));
  const shares = (n, at) => [n / (c.size || NaN), all[at] / (now.shown || NaN)].map(percent);
  const item = (n, at) => {
    const [share, ofAll] = shares(n, at);
    const width = `${c.size ? (100 * n) / c.size : 0}%`;
    const meterBar = svg("svg", { class: "meter", width: "100%", height: 8, "aria-hidden": "true" }, svg("rect", { class: "track", width: "100%", height: 8, rx: 2 }), svg("rect", { fill: groups.looks[at].colour, width, height: 8, rx: 2 }));
    return el("li", {}, el("span", {}, user(groups.names[at])), meterBar, el("span", { class: "count" }, `${formatNumber(n)} · ${share} (all texts ${ofAll})`));
  };
  return el("ul", { class: "shares-of" }, own.map(item));
}

/** The shares of the groups as one bar. */
function shareBar(counts, looks) {
  const all = d3.sum(counts);
  let x = 0;
  const parts = counts.map((n, at) => svg("rect", { x: (x += n) - n, width: n, height: 10, fill: looks[at].colour }));
  return svg("svg", { class: "share-bar", viewBox: `0 0 ${all} 10`, preserveAspectRatio: "none", "aria-hidden": "true" }, parts);
}
