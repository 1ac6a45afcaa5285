// The corrections: their list, the file to download, and loading such a file.

const FORMAT = 1; // of the file, which `subtaxa edit` reads

Object.assign(keeper, { show: showCorrections, listen: listenForFiles });

function listenForFiles() {
  $("download").addEventListener("click", downloadCorrections);
  $("load").addEventListener("change", async ({ target }) => {
    if (target.files.length) loadCorrections(await target.files[0].text());
    target.value = "";
  });
}

function showCorrections() {
  const number = corrections.length;
  $("corrected").hidden = !number;
  $("corrected").textContent = String(number);
  $("undo").disabled = $("download").disabled = !number;
  $("log").hidden = !number;
  $("log").replaceChildren(...corrections.map(({ says }) => el("li", {}, user(says))));
  const pending = $("pending");
  pending.hidden = number <= downloadedCount;
  if (number > downloadedCount) {
    // The sliders have a live text of their own.
    pending.setAttribute("aria-live", corrections[number - 1].do === "recut" ? "off" : "polite");
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
  plain.sort((a, b) => (b.do === "recut") - (a.do === "recut")); // First, so that the ids shown are those it will give.
  const file = { "subtaxa corrections": FORMAT, run: data.run, edits: data.edits, corrections: plain };
  download("corrections.json", "application/json", `${JSON.stringify(file, null, 2)}\n`);
  downloadedCount = corrections.length;
  showCorrections();
}

/** Replace all corrections by those of a file; keep the old ones if one of the new ones cannot be made. */
function loadCorrections(text) {
  const before = corrections.splice(0);
  const why = readCorrections(text);
  if (why) corrections.splice(0, corrections.length, ...before);
  else downloadedCount = corrections.length;
  $("load-problem").textContent = why ? `The file cannot be used: ${why}.` : "";
  refresh();
}

function readCorrections(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    return "it is not JSON";
  }
  if (!file || file["subtaxa corrections"] !== FORMAT || !Array.isArray(file.corrections))
    return "it contains no subtaxa corrections";
  if (file.run !== data.run) return "it belongs to another run";
  if (file.edits !== data.edits) return "the run has been edited since the file was downloaded, perhaps with this file";
  for (const [i, correction] of file.corrections.entries()) {
    now = computeState();
    const why = hasRequiredFields(correction) ? whyInvalid(now, correction) : "a required field is missing or wrong";
    if (why) return `correction ${i + 1}: ${why}`;
    corrections.push({ ...correction, says: describe(now, correction) });
  }
  return "";
}

/** Whether a value is an object that gives a number for each of some labels. */
function isMapOfNumbers(value) {
  if (!value || typeof value !== "object" || Array.isArray(value)) return false;
  const given = Object.values(value);
  return given.length > 0 && given.every(Number.isInteger);
}

/** Whether a correction has the fields that its kind needs. */
function hasRequiredFields(correction) {
  const numbers = (list) => Array.isArray(list) && list.length > 0 && list.every(Number.isInteger);
  const { do: kind, category, name, into, rows, to, categories } = correction || {};
  return (
    {
      rename: () => Number.isInteger(category) && typeof name === "string",
      split: () => Number.isInteger(category) && (into === null || Number.isInteger(into)),
      merge: () => numbers(categories),
      move: () => numbers(rows) && Number.isInteger(to),
      wrong: () => numbers(rows),
      recut: () => Number.isInteger(categories) || isMapOfNumbers(categories),
    }[kind]?.() ?? false
  );
}
