// The filters: which texts every view shows and counts.

const filters = new Map(); // by column: { codes } of a column of categories, else { low, high }; `none` allows no value
let passing = null; // for each text 1 or 0, or null without a filter

const passes = (i) => !passing || passing[i] === 1;

/** Whether a text passes a filter, as a function. */
function testOf(column, { codes, low = null, high = null, none = false }) {
  const onlyNone = !codes && low === null && high === null;
  return (i) => {
    const value = column.value(i);
    if (value === null) return none;
    return codes ? codes.has(value) : !onlyNone && (low === null || value >= low) && (high === null || value <= high);
  };
}

/** For each text whether it passes all filters, or all but that of one column; null if there are none. */
function passingBut(column = null) {
  const tests = [...filters].filter(([other]) => other !== column).map(([other, filter]) => testOf(other, filter));
  return tests.length ? Uint8Array.from(data.texts, (_, i) => tests.every((test) => test(i))) : null;
}

const isFilter = ({ codes, low = null, high = null, none = false }) => none || (codes ? codes.size > 0 : low !== null || high !== null);

/** Set the filter of a column, or remove it. */
function setFilter(column, filter) {
  if (filter && isFilter(filter)) filters.set(column, filter);
  else filters.delete(column);
  visit();
}

function clearFilters() {
  filters.clear();
  visit();
}

/** A filter in plain words. */
function filterWords(column, { codes, low = null, high = null, none = false }) {
  const parts = codes ? [...codes].sort((a, b) => a - b).map(column.write) : [];
  if (low !== null && high !== null) parts.push(low === high ? column.write(low) : `${column.write(low)} to ${column.write(high)}`);
  else if (low !== null) parts.push(`from ${column.write(low)}`);
  else if (high !== null) parts.push(`up to ${column.write(high)}`);
  if (none) parts.push("no value");
  const shown = parts.slice(0, 3).join(" or ");
  return parts.length > 3 ? `${shown} or ${parts.length - 3} more` : shown;
}
