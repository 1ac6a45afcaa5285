// Find by meaning: the texts and categories nearest to a sentence or to a text of the run.

const DUPLICATE = 0.98; // texts this similar say the same
let found = null; // { about, texts, categories }
let searches = 0; // the number of the last search; answers to earlier ones are ignored

VIEWS.similar = showFound;
textActions.push(likeButton);

function listenForSentences() {
  $("similar-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("sentence").value.trim();
    if (text) search({ text }, text);
  });
}

async function search(what, about) {
  const number = (searches += 1);
  $("similar-problem").textContent = "";
  $("similar-status").textContent = "Searching … (the first search loads the encoder)";
  const answer = await request("search", what);
  if (number !== searches) return;
  $("similar-status").textContent = "";
  $("similar-problem").textContent = answer.problem ? sentence(answer.problem) : "";
  found = answer.problem ? null : { about, ...answer };
  showFound();
}

/** A button that looks for texts like the one with this index. */
function likeButton(i) {
  const look = () => {
    location.hash = "similar";
    $("sentence").value = "";
    search({ row: data.rows[i] }, data.texts[i]);
  };
  return el("button", { type: "button", class: "like", title: "Find texts that mean something similar", onclick: look }, "More like this");
}

function showFound() {
  if (!found) return $("similar-found").replaceChildren();
  const texts = found.texts.filter(([i]) => passes(i));
  const hidden = found.texts.length - texts.length;
  const known = found.categories.filter(([id]) => now.categories.has(id));
  $("similar-found").replaceChildren(
    el("p", { class: "about-found" }, "Nearest to ", el("q", {}, user(shortened(found.about)))),
    card(
      "Categories",
      el(
        "ul",
        { class: "plain" },
        known.map(([id, near]) => {
          const c = now.categories.get(id);
          return el("li", {}, badge(c), link(c), el("span", { class: "count" }, user(data.labels[c.label]), ` · ${near.toFixed(2)}`));
        }),
      ),
    ),
    card("Texts", el("ul", { class: "texts all" }, texts.map(foundText)), hidden && el("p", { class: "note" }, `The filters hide ${hidden} of the ${found.texts.length} nearest texts.`)),
    el("p", { class: "note" }, "The number is the similarity: 1 is the same meaning, 0 is unrelated."),
  );
}

function foundText([i, near]) {
  const c = now.categories.get(now.categoryOf[i]);
  return el(
    "li",
    {},
    el("span", { class: "said" }, user(data.texts[i])),
    el("span", { class: "count" }, near >= DUPLICATE ? el("span", { class: "flag" }, "near-duplicate") : null, badge(c), link(c), ` · row ${data.rows[i]} · ${near.toFixed(2)}`, likeButton(i)),
  );
}
