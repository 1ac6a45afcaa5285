// Counts over time: a small chart for each category, and which categories are new, growing or shrinking.

const MOST_PERIODS = 36; // bars of a small chart
const WINDOWS = [7, 30, 91, 182, 365]; // days that may be compared with as many days before
const LIMIT = 200; // bars if the reader chooses the unit
const span = { unit: "", days: 0 }; // what the reader chose; 0 days and no unit choose for themselves

function listenToTime() {
  $("unit").addEventListener("change", ({ target }) => takeSpan({ unit: target.value }));
  $("window").addEventListener("change", ({ target }) => takeSpan({ days: Number(target.value) }));
}

function takeSpan(chosen) {
  Object.assign(span, chosen);
  showColumns();
}

/** What the reader chose, or the longest window that fits three times into the range of the dates, or else half of the range. */
function chooseWindow(range) {
  const fitting = WINDOWS.filter((days) => 2 * days <= range);
  const chosen = fitting.includes(span.days) ? span.days : (fitting.findLast((days) => 3 * days <= range) ?? fitting.at(-1));
  return { days: chosen ?? Math.max(1, Math.floor(range / 2)), fitting };
}

function showTime(column) {
  const shown = now.labels.flatMap(({ children }) => children.flatMap(({ members }) => members));
  const days = sortedValues(column, shown);
  if (!days.length) return $("counts").replaceChildren(el("p", { class: "note" }, "No text that passes the filters has a date in this column."));
  const auto = binDays(days, MOST_PERIODS);
  const units = unitsFor(auto, LIMIT);
  const bins = units.includes(span.unit) ? binDays(days, LIMIT, span.unit) : auto;
  const window = chooseWindow(bins.last - bins.first + 1);
  fillMenu($("unit"), bins.unit, units.map((unit) => [unit, unit]));
  fillMenu($("window"), window.days, (window.fitting.length ? window.fitting : [window.days]).map((n) => [n, plural(n, "day")]));
  const rows = now.labels.flatMap(({ children }) => children.filter((c) => c.size).map((c) => ({ c, ...trendCounts(sortedValues(column, c.members), bins, window.days) })));
  const total = trendCounts(days, bins, window.days);
  judge(rows, total);
  const missing = shown.length - days.length;
  const far = days.length - d3.sum(total.counts);
  const partial = [bins.starts[0] < bins.first && "first", bins.starts.at(-1) > bins.last + 1 && "last"].filter(Boolean);
  const left = [missing && `${plural(missing, "text")} without a date`, far && `${plural(far, "text")} with a date far outside (before ${writeDay(bins.first)} or after ${writeDay(bins.last)})`].filter(Boolean);
  $("counts").replaceChildren(
    changes(rows, total, bins, window.days),
    el("section", { class: "card" }, el("h3", {}, `All shown texts by ${bins.unit}`), bars(total.counts, bins, window.days, true), el("p", { class: "note" }, "The shaded periods are compared. ", partial.length ? `The ${partial.join(" and the ")} ${bins.unit} ${partial.length > 1 ? "are" : "is"} not complete. ` : "", left.length ? `Not counted: ${left.join(", ")}.` : "")),
    ...now.labels.flatMap(({ name, children }) => timeCharts(name, rows.filter(({ c }) => children.includes(c)), bins, window.days)),
  );
}

function fillMenu(menu, chosen, options) {
  menu.replaceChildren(...options.map(([value, name]) => el("option", { value, selected: value === chosen }, name)));
}

/** The number of texts in each period, in the last `window` days, in as many days before, and in all days before. */
function trendCounts(days, bins, window) {
  const counts = Array(bins.names.length).fill(0);
  const found = { counts, recent: 0, before: 0, earlier: 0 };
  for (const day of days) {
    if (day < bins.first || day > bins.last) continue;
    counts[bins.of(day)] += 1;
    if (day > bins.last - window) found.recent += 1;
    else found.earlier += 1;
    if (day <= bins.last - window && day > bins.last - 2 * window) found.before += 1;
  }
  return found;
}

/** Say of each category whether its share is new, growing or shrinking, or whether nobody can tell. */
function judge(rows, total) {
  const share = total.recent / (total.recent + total.before || 1);
  const shareOfAll = total.recent / (total.recent + total.earlier || 1);
  for (const row of rows) {
    const { recent, before, earlier } = row;
    const first = !earlier && recent > 0;
    row.chance = first ? atLeast(recent, recent, shareOfAll) : bothSides(recent, recent + before, share);
    row.kind = first ? "new" : recent > share * (recent + before) ? "growing" : "shrinking";
    // The most extreme result that so few texts could have given.
    row.few = !first && bothSides(0, recent + before, share) > CHANCE && bothSides(recent + before, recent + before, share) > CHANCE;
  }
  const clear = beyondChance(rows.map(({ chance }) => chance), CHANCE);
  rows.forEach((row, at) => {
    if (!clear[at]) row.kind = row.few || !row.earlier ? "few" : "steady";
  });
}

/** What has changed, in words, with the rule. */
function changes(rows, total, bins, window) {
  const of = (kind) => rows.filter((row) => row.kind === kind).sort((a, b) => a.chance - b.chance);
  const [recent, before] = [`${writeDay(bins.last - window + 1)} to ${writeDay(bins.last)}`, `${writeDay(bins.last - 2 * window + 1)} to ${writeDay(bins.last - window)}`];
  const part = (n, all) => `${formatNumber(n)} (${percent(n / all)})`;
  const item = ({ c, recent: n, before: m }) => el("li", {}, badge(c), link(c), el("span", { class: "count" }, `${part(m, total.before)} → ${part(n, total.recent)}`));
  const list = (name, kind) => {
    const found = of(kind);
    return el("div", {}, el("h4", {}, `${name}: ${found.length}`), found.length ? el("ul", { class: "plain" }, found.map(item)) : el("p", { class: "count" }, "none"));
  };
  return el(
    "section",
    { class: "card", id: "changes" },
    el("h3", {}, `What changed: the last ${plural(window, "day")} against the ${plural(window, "day")} before`),
    el("p", { class: "facts" }, `${recent} (${plural(total.recent, "text")}) against ${before} (${plural(total.before, "text")})`),
    el("div", { class: "sides" }, list("New", "new"), list("Growing", "growing"), list("Shrinking", "shrinking")),
    el("p", { class: "facts" }, `No clear change: ${of("steady").length}. Too few texts to tell: ${of("few").length}.`),
    el(
      "details",
      {},
      el("summary", {}, "The rule"),
      el(
        "p",
        { class: "note" },
        "A category grows or shrinks if its share of the texts differs between the two periods by more than chance explains, so it is not said to grow because there are more texts of every kind. It is new if all its texts are from the last period, and if chance does not explain that. Chance is judged by exact binomial tests, which also hold for small counts; at most about one in twenty of the listed categories is there by chance (Benjamini-Hochberg). The filters apply. The numbers are texts before → now, with their share of all shown texts of that period.",
      ),
    ),
  );
}

/** The texts of a category over time, for its own page. */
function dateBars(c, column) {
  const shown = now.labels.flatMap(({ children }) => children.flatMap(({ members }) => members));
  const bins = binDays(sortedValues(column, shown), MOST_PERIODS);
  if (!bins.unit) return el("p", { class: "note" }, "No text that passes the filters has a date in this column.");
  const window = chooseWindow(bins.last - bins.first + 1).days;
  return el("div", { class: "over-time" }, bars(trendCounts(sortedValues(column, c.members), bins, window).counts, bins, window));
}

const SAYS = { new: "new", growing: "growing ▲", shrinking: "shrinking ▼", steady: "", few: "" };

/** A small chart for each category of a label. Each has its own scale. */
function timeCharts(name, rows, bins, window) {
  if (!rows.length) return [];
  const chart = ({ c, counts, kind }) =>
    el("figure", { class: `card chart ${kind}` }, el("figcaption", {}, el("span", {}, badge(c), link(c)), el("span", { class: "count" }, plural(c.size, "text"), SAYS[kind] && el("b", { class: "flag" }, SAYS[kind]))), bars(counts, bins, window));
  return [el("h3", { class: "apart" }, user(name)), el("div", { class: "charts small" }, rows.map(chart))];
}

/** The counts of the periods as bars, with the two compared windows behind them. */
function bars(counts, bins, window, large = false) {
  const most = d3.max(counts) || 1;
  const [wide, high] = large ? [Math.max(240, $("counts").clientWidth - 42), 110] : [240, 56];
  const [begin, end] = [bins.starts[0], bins.starts.at(-1)];
  const x = (day) => (wide * (day - begin)) / (end - begin);
  const y = (n) => 12 + (high - 12) * (1 - n / most);
  const gap = Math.min(1.5, (0.2 * wide) / counts.length);
  const band = (from, to, kind) => svg("rect", { class: kind, x: x(Math.max(begin, from)), width: Math.max(0, x(to) - x(Math.max(begin, from))), y: 12, height: high - 12 });
  const parts = counts.map((n, at) => (n ? `M${x(bins.starts[at]).toFixed(1)} ${high}V${y(n).toFixed(1)}H${(x(bins.starts[at + 1]) - gap).toFixed(1)}V${high}Z` : "")).join("");
  const says = counts.map((n, at) => (n ? `${bins.names[at]}: ${n}` : "")).filter(Boolean).join(", ");
  return svg(
    "svg",
    { viewBox: `0 0 ${wide} ${high + 16}`, role: "img", "aria-label": `Texts by ${bins.unit}: ${says}` },
    band(bins.last + 1 - 2 * window, bins.last + 1 - window, "before"),
    band(bins.last + 1 - window, bins.last + 1, "recent"),
    svg("path", { class: "mark", d: parts }),
    svg("path", { class: "grid", d: `M0 ${high + 0.5}H${wide}` }),
    svg("text", { class: "most", x: 0, y: 9 }, `${formatNumber(most)} a ${bins.unit}`),
    svg("text", { class: "from", x: 0, y: high + 14 }, writeDay(bins.first)),
    svg("text", { class: "to", x: wide, y: high + 14 }, writeDay(bins.last)),
  );
}
