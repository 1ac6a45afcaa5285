// The tables and files to download, made in memory.

const download = (name, type, text) => downloadBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));

function downloadBlob(name, blob) {
  const url = URL.createObjectURL(blob);
  const anchor = el("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** A cell that no spreadsheet takes for a formula, in quotes if any reader could split it, as in data/tables.py. */
function cell(value) {
  let text = String(value);
  if (typeof value === "string" && /^'*[=+\-@\t\r\n＝＋－＠]/.test(text)) text = `'${text}`;
  return /[",;|\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What says in the name of a file that it has only the texts that pass the filters. */
const filteredName = () => (passing ? "-filtered" : "");

const csv = (rows) => `\ufeff${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;

function downloadCategories() {
  const rows = now.labels.flatMap(({ name, children }) =>
    children.filter((c) => !passing || c.size).map((c) => [c.id, name, c.name, c.size, c.stability ?? "", c.keywords.join(", "), c.examples.join(" | ")]),
  );
  download(
    `categories${filteredName()}.csv`,
    "text/csv",
    csv([["category_id", "label", "category", "size", "stability", "keywords", "examples"], ...rows]),
  );
}

function downloadAssignments() {
  const rows = [...data.texts.keys()].filter(passes).map((i) => {
    const c = now.categories.get(now.categoryOf[i]);
    const known = c.recut ? ["", ""] : [data.confidence[i] / 100, outliers.has(i) ? "yes" : "no"];
    return [data.rows[i], data.texts[i], data.labels[c.label], c.id, c.name, ...known, now.wrong.has(i) ? "yes" : "no"];
  });
  const head = ["row", "text", "label", "category_id", "category", "confidence", "outlier", "marked_wrong"];
  download(`assignments${filteredName()}.csv`, "text/csv", csv([head, ...rows]));
}
