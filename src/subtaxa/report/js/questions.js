// The questions of `subtaxa ask`, one card at a time, answered with buttons or the keys y, n, s and u.

const ANSWERS = [
  ["y", "Yes, one category", true],
  ["n", "No, two categories", false],
  ["s", "Skip", null],
];
let shownCard = null; // the question on screen
let asking = false; // while a card is fetched or an answer is on its way

VIEWS.questions = () => {
  if (!asking && shownCard?.edits !== data.edits) nextCard();
};

async function nextCard() {
  asking = true;
  shownCard = await request("question");
  asking = false;
  $("card-problem").textContent = shownCard.problem ? sentence(shownCard.problem) : "";
  if (shownCard.problem) $("card").replaceChildren();
  else showCard(shownCard);
}

function showCard({ question, left, answers, before, now: number, moved, last }) {
  const undoButton = el("button", { type: "button", disabled: !last, onclick: undoAnswer }, el("kbd", {}, "u"), " Undo the last answer");
  $("card").replaceChildren(
    question
      ? el(
          "section",
          { class: "card question" },
          el("p", { class: "eyebrow" }, user(question.label), ` · ${plural(left, "pair")} in doubt; an answer settles several`),
          el("div", { class: "sides" }, question.sides.map(sideOf)),
          el(
            "div",
            { class: "tools answers" },
            ANSWERS.map(([key, name, same]) =>
              el("button", { type: "button", id: `answer-${key}`, class: same === null ? "" : "main", onclick: () => giveAnswer(same) }, el("kbd", {}, key), ` ${name}`),
            ),
            undoButton,
          ),
        )
      : el("section", { class: "card question" }, el("p", {}, "Nothing more is worth asking: the categories are clear as they are."), undoButton),
  );
  $("answered").replaceChildren(
    tile("Answers in the log", formatNumber(answers)),
    tile("Categories now", formatNumber(number)),
    tile("When you opened the app", formatNumber(before)),
    tile("Texts in another category", moved === null ? "–" : formatNumber(moved)),
  );
  if (last) $("answered").append(el("div", { class: "wide" }, el("dt", {}, "The last answer"), el("dd", { class: "said" }, user(last))));
}

const sideOf = ({ name, size, texts }) =>
  el("div", {}, el("h3", {}, user(name)), el("p", { class: "facts" }, plural(size, "text")), listOf("texts", texts));

const giveAnswer = (same) => shownCard?.question && settle("answer", { nodes: shownCard.question.nodes, same });
const undoAnswer = () => shownCard?.last && settle("undo", { only: "answer" });

/** Send an answer or an undo, then show the next card. */
async function settle(path, content) {
  if (asking) return;
  asking = true;
  const why = await change(path, content);
  await nextCard();
  if (why) $("card-problem").textContent = why;
}

function answerByKey(event) {
  const busy = event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea");
  if (activeView() !== "questions" || busy) return;
  const answer = ANSWERS.find(([key]) => key === event.key.toLowerCase());
  if (answer) giveAnswer(answer[2]);
  else if (event.key.toLowerCase() === "u") undoAnswer();
}
