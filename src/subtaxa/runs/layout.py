"""The names of the files in a run folder.

run/
  categories.csv        one row per category
  assignments.csv       one row per text (assignments.parquet if the input was Parquet)
  report.html           the page to look at
  run.json              settings, versions, seed, timings, fingerprint of the data
  model/                the trained encoder, which SentenceTransformer loads
  taxonomy.json         the categories
  tree.safetensors      the category tree: the part of each text, and how parts merge
  tree.json             names, keywords, examples and stability of its nodes
  clusters.safetensors  centroids, labels, confidences and the map
  features.safetensors  the features of all texts, in the order of the assignments
  columns.parquet       the other columns of the input, if there are any
  words.safetensors     the vocabulary, if words count beside the features
  suspect_labels.csv    coarse labels that may be wrong
  edits.jsonl           the edits made since training, if there are any
  trained.json          the categories before these edits
  edits-before.jsonl    the edits made before the last `update`, for reading only
  model-int8.onnx       the export for `assign --backend onnx-int8`, once it was used
  model-int8.json       the digests of the model that was exported
  manifest.json         every file above with its digest: only these are ever removed
  checkpoint/           the state of an unfinished training
"""

from __future__ import annotations

# The version of the run folder's format, which run.json states.
FORMAT = 3

RUN = "run.json"
TAXONOMY = "taxonomy.json"
TREE = "tree.safetensors"
TREE_NODES = "tree.json"
CLUSTERS = "clusters.safetensors"
FEATURES = "features.safetensors"
COLUMNS = "columns.parquet"
WORDS = "words.safetensors"
MODEL = "model"
REPORT = "report.html"
CATEGORIES = "categories.csv"
# The assignments end in .csv or .parquet, like the input.
ASSIGNMENTS = "assignments"
SUSPECT_LABELS = "suspect_labels.csv"
EDITS = "edits.jsonl"
EARLIER_EDITS = "edits-before.jsonl"
TRAINED = "trained.json"
ONNX_MODEL = "model-int8.onnx"
ONNX_DIGESTS = "model-int8.json"
CHECKPOINT = "checkpoint"
# The file in it that says which run it belongs to.
IDENTITY = "identity.json"
MANIFEST = "manifest.json"

# The names of everything that subtaxa writes into a run folder.
ALL_FILES = frozenset(
    {
        RUN,
        TAXONOMY,
        TREE,
        TREE_NODES,
        CLUSTERS,
        FEATURES,
        COLUMNS,
        WORDS,
        MODEL,
        REPORT,
        CATEGORIES,
        f"{ASSIGNMENTS}.csv",
        f"{ASSIGNMENTS}.parquet",
        SUSPECT_LABELS,
        EDITS,
        EARLIER_EDITS,
        TRAINED,
        ONNX_MODEL,
        ONNX_DIGESTS,
        CHECKPOINT,
        MANIFEST,
    }
)
