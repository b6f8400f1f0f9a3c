"""Small files of the state: written whole or not at all, as private as their folder, and refused when damaged."""

from typing import Any

import pytest

from state.catalogue import CATALOGUE, DEFINITIONS, OUTBOX, TOKENS
from state.files import Damage, StateDamaged, make_folder, mismatch, write_text
from tests.state.damages import DAMAGES, SOUND


@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.name)
def test_what_is_written_is_read_again(kind, tmp_path):
    path = tmp_path / kind.name.replace("*", "26")
    assert kind.read(path) is None
    kind.write(path, SOUND[kind.name])
    assert kind.read(path) == SOUND[kind.name]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", CATALOGUE, ids=lambda kind: kind.name)
def test_a_damaged_file_is_named_with_its_remedy(kind, damage, tmp_path, caplog):
    if kind.lines and damage == "empty":
        pytest.skip("a file of lines may have none")
    path = tmp_path / kind.name.replace("*", "26")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(DAMAGES[damage])
    with pytest.raises(StateDamaged) as raised:
        kind.read(path)
    message = str(raised.value)
    assert message.startswith(f"{path}: cannot be read: ") and message.endswith(kind.remedy)
    assert "\n" not in message and len(message) < 400 + len(str(path))
    if kind.damage is Damage.REFUSED:
        with pytest.raises(StateDamaged):
            kind.read_or(path, "default")
        return
    assert kind.read_or(path, "default") == "default"
    assert message in caplog.text
    kept = kind.damage is Damage.SET_ASIDE
    assert (path.with_name(f"{path.name}.damaged").exists(), path.exists()) == (kept, not kept)


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    (tmp_path / "tokens.json").mkdir()
    with pytest.raises(StateDamaged, match="it is a folder; move it away"):
        TOKENS.read(tmp_path / "tokens.json")


@pytest.mark.parametrize("home_mode", [0o700, 0o750, 0o755])
def test_files_and_their_folders_are_as_private_as_the_state_folder(home_mode, tmp_path):
    home = tmp_path / "state"
    home.mkdir()
    home.chmod(home_mode)
    path = home / "nights" / "deep" / "outbox.json"
    OUTBOX.write(path, {})
    assert path.stat().st_mode & 0o777 == home_mode & 0o644
    assert {folder.stat().st_mode & 0o777 for folder in path.parents[:2]} == {home_mode}
    TOKENS.write(home / "tokens.json", {"tokens": []})
    assert (home / "tokens.json").stat().st_mode & 0o777 == 0o600


def test_a_write_that_fails_leaves_the_file_before(tmp_path):
    write_text(tmp_path / "x.json", "before")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "x.json", "\ud800")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x.json", "before")]


def test_a_folder_that_is_there_keeps_its_rights(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    make_folder(tmp_path / "a")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("value", "shape", "problem"),
    [
        ({"a": 1}, dict[str, int], ""),
        ({"a": True}, dict[str, int], "has bool at a, expected int"),
        ([{"a": []}], list[dict[str, Any]], ""),
        ([{}, 1], list[dict[str, Any]], "has int at 1, expected dict"),
        (None, dict[str, Any], "has NoneType, expected dict"),
    ],
)
def test_an_unexpected_shape_is_described(value, shape, problem):
    assert mismatch(value, shape) == problem


def test_a_definition_that_is_no_text_is_damage(tmp_path):
    (tmp_path / "definitions.json").write_text('{"shop": 1}')
    with pytest.raises(StateDamaged, match="has int at shop, expected str"):
        DEFINITIONS.read(tmp_path / "definitions.json")
