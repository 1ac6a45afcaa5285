// Whether a difference between two counts can be chance: exact binomial tests, also right for small counts.

/** The logarithm of the gamma function, by Stirling's series, for numbers from 1 on. */
function logGamma(x) {
  let [shift, y] = [0, x];
  for (; y < 9; y++) shift += Math.log(y);
  const series = 1 / (12 * y) - 1 / (360 * y ** 3) + 1 / (1260 * y ** 5);
  return (y - 0.5) * Math.log(y) - y + 0.5 * Math.log(2 * Math.PI) + series - shift;
}

/** The probability of k or more of n, each with probability p. */
function atLeast(k, n, p) {
  if (k <= 0 || p >= 1) return 1;
  if (k > n || p <= 0) return 0;
  if (k < n * p) return 1 - atLeast(n - k + 1, n, 1 - p); // Sum the shorter tail.
  let term = Math.exp(logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1) + k * Math.log(p) + (n - k) * Math.log1p(-p));
  let sum = term;
  for (let j = k; j < n && term > 1e-17 * sum; j++) sum += term *= ((n - j) / (j + 1)) * (p / (1 - p));
  return Math.min(1, sum);
}

/** The probability of a count that is at least as far from the expected one, on either side. */
const bothSides = (k, n, p) => Math.min(1, 2 * Math.min(atLeast(k, n, p), atLeast(n - k, n, 1 - p)));

/** Which of some findings count, so that on average at most this share of those that count is chance (Benjamini-Hochberg). */
function beyondChance(probabilities, share) {
  const sorted = [...probabilities].sort((a, b) => a - b);
  const limit = sorted.findLast((p, at) => p <= (share * (at + 1)) / sorted.length) ?? -1;
  return probabilities.map((p) => p <= limit);
}
