// The other columns of the texts, and the groups of values that colours and counts use.

const DAY = 86_400_000; // milliseconds; dates are whole days since 1970 (UTC)
const MAX_GROUPS = 8; // groups of numbers or dates
const FORMS = {
  category: ({ values, codes }) => ({ values, value: (i) => (codes[i] < 0 ? null : codes[i]), write: (code) => values[code] }),
  number: ({ numbers }) => ({ value: (i) => numbers[i], write: writeNumber }),
  date: ({ days }) => ({ value: (i) => days[i], write: writeDay }),
};

/** The columns of the user, and two of the run, whose keys begin with a space as no name of a column does. `value` gives the value of a text, or null; `write` makes it readable. */
const userColumns = data.columns.map((given) => ({ key: given.name, name: given.name, kind: given.kind, ...FORMS[given.kind](given) }));
const runColumns = [
  { key: " confidence", name: "Confidence in the run", kind: "number", value: (i) => data.confidence[i], write: (n) => `${n}%` },
  { key: " outlier", name: "Outlier in the run", kind: "category", values: ["no", "yes"], value: (i) => Number(outliers.has(i)), write: (code) => ["no", "yes"][code] },
];
const columns = [...userColumns, ...runColumns];

function writeNumber(number) {
  return number.toLocaleString("en", { maximumSignificantDigits: 6 });
}

function writeDay(day) {
  return d3.utcFormat("%-d %b %Y")(new Date(day * DAY));
}

/** The value of a text in words. */
function writeValue(column, i) {
  const value = column.value(i);
  return value === null ? "no value" : column.write(value);
}

/** The values of a column in at most `most` groups: their names, whether they are ordered, and the group of a text or -1. */
function groupsOf(column, most) {
  return { category: groupCategories, number: groupNumbers, date: groupDates }[column.kind](column, most);
}

function groupCategories({ values, value }, most) {
  const pooled = values.length > most;
  const names = pooled ? [...values.slice(0, most - 1), "other values"] : values;
  return { names, ordered: false, pooled, of: (i) => Math.min(value(i) ?? -1, names.length - 1) };
}

/** Each number if there are few different ones, else ranges that hold about as many texts each. */
function groupNumbers({ value, write }) {
  const numbers = sortedValues({ value }, data.texts.keys());
  const distinct = numbers.filter((n, at) => !at || n !== numbers[at - 1]);
  const few = distinct.length <= MAX_GROUPS;
  const quantiles = [0.2, 0.4, 0.6, 0.8].map((share) => d3.quantileSorted(numbers, share));
  const starts = few ? [...distinct].slice(1) : [...new Set(quantiles)].filter((n) => n > numbers[0]);
  const range = (at) => {
    if (!at) return `below ${write(starts[0])}`;
    return at < starts.length ? `${write(starts[at - 1])} to below ${write(starts[at])}` : `${write(starts[at - 1])} or more`;
  };
  const names = few ? [...distinct].map(write) : d3.range(starts.length + 1).map(range);
  return { names, ordered: true, of: (i) => (value(i) === null ? -1 : d3.bisectRight(starts, value(i))) };
}

function groupDates(column) {
  const bins = binDays(sortedValues(column, data.texts.keys()), MAX_GROUPS);
  return { names: bins.names, ordered: true, of: (i) => (column.value(i) === null ? -1 : bins.of(column.value(i))) };
}

/** The numbers or days of some texts, sorted, without the missing ones. */
function sortedValues({ value }, texts) {
  return Float64Array.from(Array.from(texts, (i) => value(i)).filter((found) => found !== null)).sort();
}
