// Periods of a column of dates: days, weeks, months, quarters, years or longer, by the range of the dates.

const UNITS = [
  // The name, the interval, how a period is written, and its days.
  ["day", d3.utcDay, "%-d %b %Y", 1],
  ["week", d3.utcMonday, "week of %-d %b %Y", 7],
  ["month", d3.utcMonth, "%b %Y", 30.4],
  ["quarter", d3.utcMonth.every(3), "Q%q %Y", 91.3],
  ["year", d3.utcYear, "%Y", 365.2],
  ["decade", d3.utcYear.every(10), "decade from %Y", 3652],
  ["century", d3.utcYear.every(100), "century from %Y", 36524],
  ["millennium", d3.utcYear.every(1000), "millennium from %Y", 365242],
];
const FAR = 2; // A date is far outside if it is this many times the usual range away from it.
const date = (day) => new Date(day * DAY);

/** The first and last of sorted days, without the few that are far outside, such as 1 January 1970 for "unknown". */
function usualRange(days) {
  const [low, high] = [0.01, 0.99].map((share) => d3.quantileSorted(days, share));
  const reach = FAR * (high - low + 1);
  const near = days.filter((day) => day >= low - reach && day <= high + reach);
  return [near[0], near.at(-1)];
}

/** The units that divide a range of days into at most so many periods, shortest first. */
const unitsFor = ({ first, last }, most) => UNITS.filter(([, , , length]) => 2 + (last - first) / length <= most).map(([name]) => name);

/** At most `most` periods that cover sorted days, in this unit if one is given. `of` is the period of a day, or -1. */
function binDays(days, most, unit = "") {
  if (!days.length) return { unit: "", names: [], starts: [], of: () => -1 };
  const [first, last] = usualRange(days);
  const wanted = unit || (unitsFor({ first, last }, most)[0] ?? "millennium");
  const [name, interval, form] = UNITS.find(([other]) => other === wanted);
  const starts = interval.range(interval.floor(date(first)), date(last + 1)).map((start) => start / DAY);
  const end = interval.offset(date(starts.at(-1)), 1) / DAY;
  return {
    unit: name,
    first,
    last,
    starts: [...starts, end],
    names: starts.map((start) => d3.utcFormat(form)(date(start))),
    of: (day) => (day < starts[0] || day >= end ? -1 : d3.bisectRight(starts, day) - 1),
  };
}
