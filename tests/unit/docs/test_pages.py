"""Pages are whole: links lead somewhere, Python is Python, JSON is a spec, what is shown as a file has a name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gym_anything.actions.parse import parse_actions
from gym_anything.specs import EnvSpec, TaskSpec
from tests.unit.docs.doc_snippets import ROOT, prose, python_snippets, snippets, write_files

pytestmark = pytest.mark.unit

PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*/README.md", "examples/*/README.md", "native/*/README.md")
    for path in ROOT.glob(pattern)
)
HOW_TO = [page for page in PAGES if page.startswith("docs/how-to/")]
LINK = re.compile(r"\]\(([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_to_a_file_leads_somewhere(page: str) -> None:
    folder = (ROOT / page).parent
    targets = LINK.findall(prose(page))
    assert [target for target in targets if "://" not in target and not (folder / target).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_python_on_a_page_is_python(page: str) -> None:
    for snippet in python_snippets(page, files=True):
        compile(snippet.text, f"{page}:{snippet.line}", "exec")


@pytest.mark.parametrize("page", PAGES)
def test_json_on_a_page_is_what_it_seems_to_be(page: str) -> None:
    for snippet in snippets(page):
        if snippet.language == "json":
            document = json.loads(snippet.text)
            match Path(snippet.file or "").name:
                case "env.json":
                    EnvSpec.from_dict(document)
                case "task.json":
                    TaskSpec.from_dict(document)
                case "":
                    pass
                case _:
                    parse_actions(document, screen=(1280, 800))


def test_the_how_to_pages_show_whole_files(tmp_path: Path) -> None:
    names = {str(path.relative_to(tmp_path)) for page in HOW_TO for path in write_files(page, tmp_path)}
    assert {"my_package/agents.py", "my_package/worlds.py", "tests/test_worlds.py"} <= names
    task = "my_world/environments/editor/tasks/greet"
    assert {f"{task}/{name}" for name in ("task.json", "setup/setup.sh", "verifier.py", "oracle.json")} <= names
