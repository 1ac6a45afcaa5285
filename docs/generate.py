"""Pages of the site that are generated when it is built: settings, commands, methods, interface of the app, notebook.

mkdocs calls `on_files` (see `hooks` in mkdocs.yml). Each page is a function that returns Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

NOTEBOOK = Path(__file__).parent / "tutorials" / "notebook.ipynb"
HELP_WIDTH = "96"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site."""
    from mkdocs.structure.files import File

    pages = {
        "reference/settings.md": settings_page(),
        "reference/commands.md": commands_page(),
        "reference/methods.md": methods_page(),
        "reference/app-api.md": app_api_page(),
        "reference/openapi.json": json.dumps(app_api(), indent=2),
        "tutorials/notebook.md": notebook_page(json.loads(NOTEBOOK.read_text("utf-8"))),
    }
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def app_api() -> dict[str, Any]:
    """Return the OpenAPI document of the app of a run."""
    from subtaxa.app.openapi import describe
    from subtaxa.app.run_app import run_endpoints

    return describe(run_endpoints(None, None, None))  # They are described, not called.


def start_api() -> dict[str, Any]:
    """Return the OpenAPI document of the start page."""
    from subtaxa.app.openapi import describe
    from subtaxa.app.start_app import start_endpoints

    return describe(start_endpoints(None))


def addresses(spec: dict[str, Any]) -> Iterator[str]:
    """Yield a table of the addresses in an OpenAPI document."""
    yield from ("| Address | What it does | What is sent |", "|---|---|---|")
    for path, methods in spec["paths"].items():
        for method, about in methods.items():
            content = about.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            kinds = schema.get("anyOf", [schema])
            sent = " or ".join(", ".join(f"`{name}`" for name in kind.get("properties", {})) for kind in kinds)
            sent = "the bytes of the file; `name` in the address" if "application/octet-stream" in content else sent
            yield f"| `{method.upper()} {path}` | {about['summary']} | {sent} |"


def app_api_page() -> str:
    """Return a table of the addresses of the app, and what each of them takes."""
    spec = app_api()
    lines = [
        "# JSON interface of the app",
        "",
        "The page of [`subtaxa open`](../how-to/open.md) uses these addresses, and so can a program on this machine.",
        "The [OpenAPI document](openapi.json) describes them for tools; the app also serves it as `/api/openapi.json`.",
        "",
        spec["info"]["description"],
        "",
        *addresses(spec),
        "",
        "Without a run folder, `subtaxa open` serves each run below `/run/KEY/` with the addresses above, and these",
        "of the start page:",
        "",
        *addresses(start_api()),
    ]
    corrections = [
        "",
        "A `correction` is one of those that the report writes into `corrections.json`:",
        "",
        "```json",
        '{"do": "rename", "category": 3, "name": "double charge"}',
        '{"do": "merge", "categories": [3, 7]}',
        '{"do": "split", "category": 3, "into": 2}',
        '{"do": "move", "rows": [17, 23], "to": 3}',
        '{"do": "new", "rows": [17, 23], "name": "double charge"}',
        '{"do": "wrong", "rows": [17]}',
        '{"do": "recut", "categories": 27}',
        "```",
        "",
        'A problem is answered with `{"problem": "one sentence"}` and status 422, or 409 if the run has edits that the',
        "caller does not know. Requests without the cookie, or with another Host or Origin, are answered with 403.",
    ]
    return "\n".join(lines + corrections) + "\n"


def settings_page() -> str:
    """Return a table of the settings, their ranges and their value in every preset."""
    from subtaxa import settings

    preset_names = list(settings.PRESETS)
    preset_names.sort(key=["default", "quick", "paper"].index)
    values = {name: settings.Settings.from_preset(name).to_dict() for name in preset_names}
    lines = [
        "# Settings and presets",
        "",
        "Every setting is a keyword of `Discovery` and an option of `subtaxa discover`: `batch_size=32` is",
        "`--batch-size 32`. A setting that you do not give comes from the preset (`--preset`, default: `default`).",
        "A method may replace some of the preset's values by its own; your own values take precedence over both.",
        "The default method `soft-dna` does so: see [the default method](../explanation/default-method.md).",
        "",
        "| Setting | Meaning | Allowed | " + " | ".join(f"`{name}`" for name in preset_names) + " |",
        "|---|---|---|" + "---|" * len(preset_names),
    ]
    for name in settings.NAMES:
        about = settings.about(name)
        meaning, _, allowed = about.rpartition(" (") if about.endswith(")") else (about, "", "a name")
        if name in ("method", "encoder"):
            meaning, allowed = about, "a name"
        cells = [f"`{name}`", meaning, allowed.rstrip(")") if allowed != "a name" else allowed]
        cells += [f"`{values[preset][name]}`" for preset in preset_names]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    renamed = getattr(settings, "RENAMED", {})
    if renamed:
        lines += ["", "## Renamed settings", "", "The old names still work in 0.2 and will be removed in 0.3.", ""]
        lines += ["| 0.1 | 0.2 |", "|---|---|", *(f"| `{old}` | `{new}` |" for old, new in renamed.items())]
    return "\n".join([*lines, "", *own_values()]) + "\n"


def own_values() -> Iterator[str]:
    """Yield the table of the values that a method uses in place of the preset's."""
    from subtaxa.methods import variants

    yield from ("## Values of the methods", "", "These values replace those of the presets `default` and `quick`.", "")
    yield from ("| Method | Values |", "|---|---|")
    for name, kind in sorted(variants().items()):
        own = kind.defaults
        if own:
            yield f"| `{name}` | {', '.join(f'`{key}={value!r}`' for key, value in own.items())} |"


def commands_page() -> str:
    """Return the help of every command."""
    from subtaxa.cli.main import parser

    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = HELP_WIDTH
    try:
        top = parser()
        lines = ["# Commands", "", f"```text\n{top.format_help().strip()}\n```", ""]
        for name, command in subcommands(top):
            lines += [f"## subtaxa {name}", "", f"```text\n{command.format_help().strip()}\n```", ""]
            for inner_name, inner in subcommands(command):
                lines += [f"### subtaxa {name} {inner_name}", "", f"```text\n{inner.format_help().strip()}\n```", ""]
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
    return "\n".join(lines)


def subcommands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the name and the parser of each command below this one."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def methods_page() -> str:
    """Return a table of the training methods, each with the first line of its docstring."""
    from subtaxa.methods import variants

    lines = [
        "# Methods",
        "",
        "`subtaxa methods` prints this list. Choose one with `--method NAME`. See",
        "[how to add your own](../how-to/extend.md#a-method).",
        "",
        "| Method | What it does |",
        "|---|---|",
    ]
    for name, kind in sorted(variants().items()):
        lines.append(f"| `{name}` | {(kind.__doc__ or '').strip().splitlines()[0]} |")
    return "\n".join(lines) + "\n"


def notebook_page(notebook: dict[str, Any]) -> str:
    """Return the notebook as a page: its text, its code and the outputs that are stored in it."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [shown for output in cell.get("outputs", []) if (shown := shown_output(output))]
    return "\n\n".join(parts) + "\n"


def shown_output(output: dict[str, Any]) -> str:
    """Return one output of a cell: a picture, a table or text."""
    data = output.get("data", {})
    if "image/png" in data:
        return f"![Figure](data:image/png;base64,{''.join(data['image/png']).replace(chr(10), '')})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""
