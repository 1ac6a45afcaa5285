// The corrections as a list, as a file to download, and read back from one.

const FORMAT = 1; // of the file; `subtaxa edit` reads the same

function showCorrections() {
  const number = corrections.length;
  $("corrected").hidden = !number;
  $("corrected").textContent = String(number);
  $("undo").disabled = $("download").disabled = !number;
  $("log").hidden = !number;
  $("log").replaceChildren(...corrections.map(({ says }) => el("li", {}, user(says))));
  const pending = $("pending");
  pending.hidden = number <= saved;
  if (number > saved) {
    pending.replaceChildren(
      el("span", { class: "last" }, user(corrections[number - 1].says)),
      el(
        "span",
        { class: "end" },
        el("button", { type: "button", onclick: undo }, "Undo"),
        el(
          "button",
          { type: "button", class: "main", onclick: downloadCorrections },
          `Download ${plural(number, "correction")}`,
        ),
      ),
    );
  }
}

function downloadCorrections() {
  const plain = corrections.map(({ says, ...correction }) => correction);
  const file = { "subtaxa corrections": FORMAT, run: data.run, edits: data.edits, corrections: plain };
  download("corrections.json", "application/json", `${JSON.stringify(file, null, 2)}\n`);
  saved = corrections.length;
  showCorrections();
}

/** Take the corrections of a file in place of those there are; all or none. */
function loadCorrections(text) {
  const before = corrections.splice(0);
  const why = replaced(text);
  if (why) corrections.splice(0, corrections.length, ...before);
  else saved = corrections.length;
  $("load-problem").textContent = why ? `The file cannot be used: ${why}.` : "";
  changed();
}

function replaced(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    return "it is not JSON";
  }
  if (!file || file["subtaxa corrections"] !== FORMAT || !Array.isArray(file.corrections))
    return "it holds no corrections of subtaxa";
  if (file.run !== data.run) return "its corrections are of another run";
  if (file.edits !== data.edits) return "the run was edited since it was made, perhaps with this very file";
  for (const [i, correction] of file.corrections.entries()) {
    now = derive();
    const why = shaped(correction) ? problem(now, correction) : "it has not the right parts";
    if (why) return `correction ${i + 1}: ${why}`;
    corrections.push({ ...correction, says: words(now, correction) });
  }
  return "";
}

/** Has it the parts that a correction of its kind needs? */
function shaped(correction) {
  const numbers = (list) => Array.isArray(list) && list.length > 0 && list.every(Number.isInteger);
  const { do: kind, category, name, into, rows, to, categories } = correction || {};
  return (
    {
      rename: () => Number.isInteger(category) && typeof name === "string",
      split: () => Number.isInteger(category) && (into === null || Number.isInteger(into)),
      merge: () => numbers(categories),
      move: () => numbers(rows) && Number.isInteger(to),
      wrong: () => numbers(rows),
    }[kind]?.() ?? false
  );
}
