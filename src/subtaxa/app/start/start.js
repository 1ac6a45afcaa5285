// The start page: the runs in the folder, a dropped file with its columns, and the progress of a job.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const el = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null)); // Strings become text nodes, never markup.
    return node;
  };
  const user = (text) => el("bdi", { dir: "auto" }, text);
  const plural = (n, one) => `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}`;
  const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
  const ACTIVE = ["running", "stopping"];
  let file = null; // what the app said about the dropped file
  let place = "";

  /** Ask the app. Returns its answer, or { problem } with one sentence. */
  async function request(path, options) {
    try {
      const response = await fetch(`/api/${path}`, options);
      return await response.json();
    } catch {
      return { problem: "The app does not answer. Start it again with subtaxa open." };
    }
  }
  const post = (path, content) =>
    request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });
  const say = (id, answer) => ($(id).textContent = answer.problem ? sentence(answer.problem) : "");

  async function upload(chosen) {
    $("file-status").textContent = "Reading the file …";
    $("file-problem").textContent = "";
    const path = `upload?name=${encodeURIComponent(chosen.name)}`;
    const answer = await request(path, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: chosen });
    $("file-status").textContent = answer.problem ? "" : `${answer.name}: ${plural(answer.columns.length, "column")}. Check the columns below.`;
    say("file-problem", answer);
    file = answer.problem ? null : answer;
    showColumns();
  }

  function showColumns() {
    $("choose").hidden = !file;
    $("choose-problem").textContent = "";
    if (!file) return;
    const options = (chosen) => file.columns.map((name) => el("option", { value: name, selected: name === chosen }, name));
    $("text-column").replaceChildren(...options(file.text));
    $("label-column").replaceChildren(el("option", { value: "" }, "none: all texts are one group"), ...options(file.label));
    $("where").textContent = `A new folder ${file.name.replace(/\.\w+(\.gz)?$/, "")} in ${place} will hold the file and the run.`;
    showPreview();
    $("discover").focus();
  }

  function showPreview() {
    const chosen = [$("text-column").value, $("label-column").value];
    const role = (name) => (name === chosen[0] ? " (text)" : name === chosen[1] ? " (label)" : "");
    const kind = (i) => (chosen.includes(file.columns[i]) ? "chosen" : "");
    $("preview").replaceChildren(
      el("thead", {}, el("tr", {}, ...file.columns.slice(0, 50).map((name, i) => el("th", { scope: "col", class: kind(i) }, user(name), role(name))))),
      el("tbody", {}, ...file.rows.map((row) => el("tr", {}, ...row.map((value, i) => el("td", { class: kind(i) }, user(value)))))),
    );
  }

  async function discover(event) {
    event.preventDefault();
    $("discover").disabled = true;
    const answer = await post("discover", {
      upload: file.upload,
      text: $("text-column").value,
      label: $("label-column").value || null,
      preset: $("preset").value,
      categories: $("categories").value.trim() || "auto",
      encoder: $("encoder").value.trim(),
    });
    $("discover").disabled = false;
    say("choose-problem", answer);
    if (answer.problem) return;
    file = null;
    $("file").value = "";
    $("file-status").textContent = "";
    showColumns();
    show(answer);
    $("job-stop").focus();
  }

  const TITLES = {
    running: "3. Finding categories",
    stopping: "Stopping …",
    stopped: "Stopped",
    failed: "This did not work",
    finished: "The categories are ready",
  };

  function duration(seconds) {
    if (seconds < 90) return `${seconds} s`;
    return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
  }

  function showJob(job) {
    $("job").hidden = !job;
    if (!job) return;
    const active = ACTIVE.includes(job.state);
    $("job-title").textContent = TITLES[job.state];
    $("job-about").textContent = [job.folder, ...job.lines].join(" · ");
    $("bar").hidden = !active;
    if (job.total) $("bar").value = (100 * job.done) / job.total;
    else $("bar").removeAttribute("value");
    const left = job.left === null || job.left === undefined ? "" : `, about ${duration(job.left)} left in this step`;
    $("job-step").textContent = active && job.step ? `${job.step}${left}` : "";
    $("job-problem").textContent = job.state === "failed" ? sentence(job.problem || "the program ended unexpectedly") : "";
    $("job-open").hidden = job.state !== "finished";
    $("job-open").href = `/run/${job.key}/`;
    $("job-stop").hidden = job.state !== "running";
    $("job-resume").hidden = job.state !== "stopped";
    $("job-resume").onclick = () => resume(job.key);
  }

  const resume = async (key) => show(await post("resume", { key }));

  function runCard(run) {
    const facts = `${plural(run.texts, "text")} in ${plural(run.labels, "label")} · ${new Date(run.created).toLocaleString()}`;
    if (run.finished)
      return el("li", { class: "card" }, el("h3", {}, el("a", { href: `/run/${run.key}/` }, user(run.folder))), el("p", { class: "facts" }, user(run.source || "texts"), el("br"), facts));
    const more = run.can_resume
      ? el("button", { type: "button", onclick: () => resume(run.key) }, "Continue")
      : el("p", { class: "facts" }, "Add --resume to its command in a terminal to continue it.");
    return el("li", { class: "card" }, el("h3", {}, user(run.folder)), el("p", { class: "facts" }, "Not finished"), more);
  }

  function show(state) {
    if (state.problem) {
      $("job").hidden = false;
      return say("job-problem", state);
    }
    place = state.place;
    showJob(state.job);
    $("place").textContent = state.runs.length ? state.place : `There is no run in ${state.place} yet. Drop a file above to start.`;
    $("runs").replaceChildren(...state.runs.map(runCard));
    offerComparison(state.runs.filter(({ finished }) => finished));
    if (state.job && ACTIVE.includes(state.job.state)) setTimeout(look, 500);
  }

  /** Two lists of runs, older to newer. They are rebuilt only when the runs change, so that a choice stays. */
  function offerComparison(runs) {
    $("compare").hidden = runs.length < 2;
    if ($("compare-a").length === runs.length) return;
    const options = (chosen) => runs.map(({ key, folder }, i) => el("option", { value: key, selected: i === chosen, dir: "auto" }, folder));
    $("compare-a").replaceChildren(...options(1));
    $("compare-b").replaceChildren(...options(0));
  }

  function compare(event) {
    event.preventDefault();
    location.href = `/compare?a=${$("compare-a").value}&b=${$("compare-b").value}`;
  }

  const look = async () => show(await request("start"));

  $("file").addEventListener("change", ({ target }) => target.files.length && upload(target.files[0]));
  for (const id of ["text-column", "label-column"]) $(id).addEventListener("change", showPreview);
  $("choose").addEventListener("submit", discover);
  $("compare").addEventListener("submit", compare);
  $("job-stop").addEventListener("click", async () => show(await post("stop", {})));
  addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  addEventListener("dragleave", (event) => !event.relatedTarget && document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    if (event.dataTransfer.files.length) upload(event.dataTransfer.files[0]);
  });
  look().then(() => (document.body.dataset.ready = "yes"));
})();
