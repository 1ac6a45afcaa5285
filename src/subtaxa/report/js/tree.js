// The category tree: fine parts that merge two at a time, and the categories of a cut through it.

let forest = data.tree && growForest(data.tree);

/** The tree by label. A node comes after its children, and the merges are in the order in which they were made. */
function growForest(tree) {
  const nParts = tree.labels.length;
  const labels = [...tree.labels, ...Array(tree.children.length / 2)];
  const parents = labels.map(() => -1);
  tree.children.forEach((child, i) => {
    const merge = nParts + Math.floor(i / 2);
    parents[child] = merge;
    labels[merge] = labels[child];
  });
  const nodes = data.labels.map(() => []); // of each label, in increasing order
  labels.forEach((label, node) => nodes[label].push(node));
  const merges = nodes.map((own) => own.filter((node) => node >= nParts));
  const most = nodes.map((own) => own.filter((node) => node < nParts).length);
  const exact = JSON.parse(tree.exact);
  return {
    ...tree,
    nParts,
    labels,
    parents,
    nodes,
    merges,
    most, // the largest number of categories of each label
    ids: new Map(tree.ids), // by node: the id that it has or had as a category
    given: new Map(tree.given), // by node: the name that a person gave it
    ofRun: new Map(data.categories.map((c) => [c.id, c])),
    nodeOf: new Map(tree.categories), // by id: the node of a category of the run
    exactLabels: data.labels.map((name, i) => exact[i] ?? name), // as in the user's file
  };
}

/** The number of categories of each label in a cut at this total. */
function divideTotal(total) {
  const numbers = data.labels.map(() => 1);
  const first = forest.parents.length - (total - numbers.length); // Merges from here on are undone.
  for (let node = first; node < forest.parents.length; node++) numbers[forest.labels[node]] += 1;
  return numbers;
}

/** The nodes of a label that are its categories if it has this many. */
function cutNodes(label, number) {
  const merges = forest.merges[label];
  const undone = new Set(merges.slice(merges.length - number + 1));
  return forest.nodes[label].filter(
    (node) => !undone.has(node) && (forest.parents[node] < 0 || undone.has(forest.parents[node])),
  );
}

/** Whether the run already has exactly these categories. */
function isOfRun(label, number) {
  const own = data.categories.filter((c) => c.label === label);
  const nodes = new Set(cutNodes(label, number));
  return own.length === number && own.every((c) => nodes.has(forest.nodeOf.get(c.id)));
}

/** The categories of the labels that have a number, and, in `categoryOf`, those of their texts.
 *
 * They have the ids that `subtaxa edit` will give: a node that was a category before has its id, others count up.
 */
function cutCategories(numbers, categoryOf) {
  const cut = numbers.flatMap((number, label) => (number ? cutNodes(label, number) : [])).sort((a, b) => a - b);
  const owner = new Int32Array(forest.parents.length).fill(-1); // by node: the id of the category it is in
  let next = forest.next;
  for (const node of cut) owner[node] = forest.ids.get(node) ?? next++;
  const found = cut.map((node) => asCategory(node, owner[node]));
  for (let node = owner.length - 1; node >= 0; node--) {
    if (owner[node] < 0 && forest.parents[node] >= 0) owner[node] = owner[forest.parents[node]];
  }
  const sizes = new Map(found.map(({ id }) => [id, 0]));
  forest.parts.forEach((part, i) => {
    if (owner[part] < 0) return;
    categoryOf[i] = owner[part];
    sizes.set(owner[part], sizes.get(owner[part]) + 1);
  });
  found.sort((a, b) => sizes.get(b.id) - sizes.get(a.id) || a.id - b.id);
  nameCategories(found);
  return found;
}

/** A node as a category. One that is a category of the run keeps what is known of it. */
function asCategory(node, id) {
  const same = forest.nodeOf.get(id) === node && forest.ofRun.get(id);
  const unknown = { difference: "", confused: [], recut: true }; // Known once the corrections are applied.
  if (same) return { ...same, ...unknown, kept: true };
  return {
    id,
    node,
    label: forest.labels[node],
    name: "",
    namer: "",
    keywords: forest.keywords[node],
    examples: forest.examples[node].map((example) => shortened(Number.isInteger(example) ? data.texts[example] : example)),
    stability: forest.stability[node],
    ...unknown,
  };
}

const shortened = (text) => (text.length > 400 ? `${text.slice(0, 399)}…` : text);

/** Name the new categories, largest first, so that no two of a label have the same name. */
function nameCategories(found) {
  const taken = data.labels.map(() => new Set());
  const lower = data.labels.map(() => new Set());
  const take = (c) => {
    taken[c.label].add(c.name);
    lower[c.label].add(c.name.toLowerCase());
  };
  found.filter((c) => c.kept).forEach(take);
  for (const c of found.filter((other) => !other.kept)) {
    const given = forest.given.get(c.node);
    if (given && !taken[c.label].has(given)) Object.assign(c, { name: given, namer: "you" });
    else {
      const name = forest.names[c.node];
      c.name = name;
      for (let number = 2; lower[c.label].has(c.name.toLowerCase()); number++) c.name = `${name} (${number})`;
    }
    take(c);
  }
}
