"""What is typed, pasted and completed at the input box, and what is kept of it."""

from __future__ import annotations

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.layout import BufferControl, Layout, Window
from prompt_toolkit.output import DummyOutput

from dogu.agent.at_paths import at_paths
from dogu.agent.slash import Offer, Said, SlashCommand, SlashCommands
from dogu.contract import Blob
from dogu.serve.terminal.completion import FileIndex, FolderHistory, InputCompleter, may_complete, quoted
from dogu.serve.terminal.input_keys import KEY_ACTIONS, InputKeys, key_sequence, keys_of
from dogu.serve.terminal.message import Draft
from dogu.serve.terminal.screen import Doings, Message

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 32


def test_a_long_paste_stands_as_a_mark_and_is_sent_in_full():
    draft = Draft()
    pasted = "\n".join(f"line {n}" for n in range(120))
    mark = draft.paste(pasted)
    assert mark == "[Pasted text #1: 120 lines]"
    assert draft.message(f"look: {mark} please").text == f"look: {pasted} please"
    assert draft.paste("x" * 2_000) == "[Pasted text #2: 2000 characters]"


def test_a_short_paste_is_text_without_what_a_terminal_would_obey():
    assert Draft().paste("a\r\nb\x1b[2J\x1b]0;title\x07c") == "a\nbc"


@pytest.mark.parametrize("written", ["{}", "'{}'", "file://{}", "{}\n"])
def test_a_dropped_picture_is_attached(tmp_path: Path, written: str):
    (tmp_path / "a b.png").write_bytes(PNG)
    draft = Draft()
    mark = draft.paste(written.format(tmp_path / "a b.png"))
    assert mark == "[Image #1: a b.png]"
    assert draft.message(f"what is {mark}").blobs == (Blob("image/png", PNG, "a b.png"),)


def test_what_only_has_the_name_of_a_picture_stays_a_text(tmp_path: Path):
    (tmp_path / "a.png").write_text("no picture")
    assert Draft().paste(str(tmp_path / "a.png")) == str(tmp_path / "a.png")


def test_a_message_taken_back_has_its_marks_again():
    draft = Draft()
    pasted = "x\n" * 50 + "end"
    mark = draft.paste(pasted)
    message = draft.message(f"see {mark}")
    assert draft.draft_of(message) == f"see {mark}"
    assert draft.draft_of(Message("plain")) == "plain"


@pytest.mark.parametrize(
    "path",
    ["a.py", "a b.py", "日本語.md", 'say "hi".txt', "it's.txt", "a(b).c", "both'\".txt", "x.", "dir/", "c\\d e.txt"],
)
def test_a_completed_path_is_read_back_as_that_path(path: str):
    assert at_paths(f"look at @{quoted(path)} now")[0][0] == path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("src/main.py", "src/main_test.py", "src/domain.py", "docs/日本語 メモ.md", "build/out.o", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("build/\n")
    return tmp_path


def found(tree: Path, wanted: str) -> list[str]:
    index = FileIndex(str(tree))
    index.look_again()
    return index.find(wanted)


def test_files_are_found_by_their_letters_the_best_first(tree: Path):
    assert found(tree, "main")[0] == "src/main.py"
    assert "src/main_test.py" in found(tree, "mte")
    assert found(tree, "メモ") == ["docs/日本語 メモ.md"]
    assert "src/domain.py" in found(tree, "doamin.py"), "a slip of the finger"


@pytest.mark.parametrize(("typed", "may"), [("/mo", True), ("see @a", True), ("plain words", False), ("a\n/b", False)])
def test_only_what_can_be_completed_starts_a_search(typed: str, may: bool):
    assert may_complete(Document(typed)) == may


def test_ignored_files_are_not_offered(tree: Path):
    assert not [path for path in found(tree, "out") if path.startswith("build")]
    assert "README.md" in found(tree, "")


def completed(tree: Path, typed: str, commands: SlashCommands | None = None) -> list[str]:
    completer = InputCompleter(FileIndex(str(tree)))
    completer.use(commands or SlashCommands())
    return [found.text for found in completer.get_completions(Document(typed), CompleteEvent())]


def test_at_completes_files_in_the_middle_of_a_sentence(tree: Path):
    assert completed(tree, "look at @READ") == ["@README.md"]
    assert completed(tree, "見て「@メモ") == ['@"docs/日本語 メモ.md"']
    assert completed(tree, '@"日本語 メ') == ['@"docs/日本語 メモ.md"']
    assert completed(tree, "mail me@READ") == []


def test_what_is_typed_while_the_tree_is_first_walked_is_completed_once_it_was(
    tree: Path, monkeypatch: pytest.MonkeyPatch
):
    index, walk = FileIndex(str(tree)), FileIndex._walk
    is_walking, goes_on = threading.Event(), threading.Event()

    def walk_late(self: FileIndex) -> None:
        is_walking.set()
        goes_on.wait(30)
        walk(self)

    monkeypatch.setattr(FileIndex, "_walk", walk_late)
    with ThreadPoolExecutor() as threads:
        walked = threads.submit(index.look_again)
        is_walking.wait(30)
        found = threads.submit(index.look_for, "domain")
        goes_on.set()
        assert found.result(30) == ["src/domain.py"]
        walked.result(30)
    assert index.look_for("nothing like it") == []


def test_a_command_is_known_by_the_name_that_other_agents_have_for_it(tree: Path):
    async def say_what(rest: str) -> Said:
        return Said(f"compacted {rest}")

    commands = SlashCommands([SlashCommand("compact", "make room", say_what), SlashCommand("copy", "copy", say_what)])
    assert anyio.run(commands.run, "compress") == Said("compacted ")
    assert completed(tree, "/compr", commands) == ["compact"]
    assert completed(tree, "/co", commands) == ["compact", "copy"]
    assert completed(tree, "/exi", commands) == [], "what isn't there isn't offered by another name either"


def test_slash_completes_commands_and_their_arguments(tree: Path):
    async def say_nothing(_rest: str) -> Said:
        return Said("")

    modes = SlashCommand(
        "mode", "modes", say_nothing, "[MODE]", lambda start: [m for m in ("plan",) if m.startswith(start)]
    )
    commands = SlashCommands([modes, SlashCommand("help", "help", say_nothing)])
    assert completed(tree, "/", commands) == ["mode ", "help"]
    assert completed(tree, "/mo", commands) == ["mode "]
    assert completed(tree, "/mode p", commands) == ["plan"]
    assert completed(tree, "no /mo", commands) == []


def test_what_was_typed_is_kept_for_its_folder_and_its_owner(tmp_path: Path):
    FolderHistory(str(tmp_path), "/work").store_string("first\nof two lines")
    FolderHistory(str(tmp_path), "/work").store_string("second \ud800")
    again = FolderHistory(str(tmp_path), "/work")
    assert list(again.load_history_strings()) == ["second ?", "first\nof two lines"]
    assert list(FolderHistory(str(tmp_path), "/elsewhere").load_history_strings()) == []
    (file,) = (tmp_path / "history").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_torn_history_is_read_as_far_as_it_goes(tmp_path: Path):
    history = FolderHistory(str(tmp_path), "/work")
    history.store_string("whole")
    (file,) = (tmp_path / "history").iterdir()
    file.write_bytes(file.read_bytes() + b'"torn')
    assert list(history.load_history_strings()) == ["whole"]


def test_the_history_does_not_grow_for_ever(tmp_path: Path):
    history = FolderHistory(str(tmp_path), "/work")
    for number in range(150):
        history.store_string(f"{number} " + "x" * 19_000)
    (file,) = (tmp_path / "history").iterdir()
    assert file.stat().st_size < 2_200_000
    assert next(iter(history.load_history_strings())).startswith("149 ")


@pytest.mark.parametrize(
    ("written", "sequence"),
    [("Ctrl-B", ("c-b",)), ("alt-p", ("escape", "p")), ("Shift-Tab", ("s-tab",)), ("F5", ("f5",)), ("?", ("?",))],
)
def test_a_key_is_read_as_the_settings_write_it(written: str, sequence: tuple[str, ...]):
    assert key_sequence(written) == sequence


@pytest.mark.parametrize("written", ["", "Ctrl", "Ctrl-Foo", "Hyper-x", "F99", "a b"])
def test_what_is_no_key_is_refused_and_the_usual_one_stays(written: str):
    with pytest.raises(ValueError, match=r"^"):
        key_sequence(written)
    action = KEY_ACTIONS[0]
    assert keys_of(action, {action.name: written}) == (action.keys if written else "")


class Box:
    """An input box that nothing is drawn of."""

    def __init__(self) -> None:
        self.buffer = Buffer(name="input", multiline=True)
        self.draft = Draft()
        self.hint_before = ""

    @property
    def doings(self) -> Doings:
        raise NotImplementedError

    def send(self) -> None: ...

    def give_back(self, message: Message) -> None: ...

    def has_nothing_typed(self) -> bool:
        return False

    def show_keys(self) -> None: ...

    def say_below(self, hint: str) -> None: ...


def typed(keys: str) -> str:
    """Return what stands in the box after these keys, `|` where the cursor is."""
    box = Box()
    bindings = InputKeys(box, {}).bindings()

    @bindings.add("f5")
    def _(event: KeyPressEvent) -> None:
        event.app.exit()

    with create_pipe_input() as pipe:
        pipe.send_text(f"{keys}\x1b[15~")
        layout = Layout(Window(BufferControl(box.buffer)))
        Application[None](layout, key_bindings=bindings, input=pipe, output=DummyOutput()).run()
    document = box.buffer.document
    return f"{document.text_before_cursor}|{document.text_after_cursor}"


FAMILY, HEART, ACUTE = "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "e\u0301"
LEFT, RIGHT, DELETE, HOME, BACKSPACE = "\x1b[D", "\x1b[C", "\x1b[3~", "\x01", "\x7f"


@pytest.mark.parametrize("cluster", [FAMILY, HEART, ACUTE, "\U0001f1ef\U0001f1f5", "\u1100\u1161\u11a8", "x"])
def test_keys_erase_and_pass_what_is_seen_as_one_character(cluster: str):
    text = f"a{cluster}{cluster}"
    assert typed(text + BACKSPACE) == f"a{cluster}|"
    assert typed(text + LEFT) == f"a{cluster}|{cluster}"
    assert typed(text + HOME + RIGHT * 2) == f"a{cluster}|{cluster}"
    assert typed(text + HOME + RIGHT + DELETE) == f"a|{cluster}"
    assert typed(text + HOME + RIGHT + "\x04") == f"a|{cluster}"
    assert typed(text + BACKSPACE * 5 + LEFT + RIGHT) == "|"


PASTE, MARK = f"\x1b[200~{'x' * 2_000}\x1b[201~", "[Pasted text #1: 2000 characters]"
WORD_BEFORE, WORD_AFTER, LINE_AFTER = "\x17", "\x1bd", "\x0b"


@pytest.mark.parametrize(
    ("keys", "left"),
    [
        (LEFT + "y", f"ay|{MARK}"),
        (LEFT + RIGHT + "y", f"a{MARK}y|"),
        (LEFT * 3 + RIGHT * 2 + "y", f"a{MARK}y|"),
        (BACKSPACE, "a|"),
        (HOME + RIGHT + DELETE, "a|"),
        (HOME + RIGHT + "\x04", "a|"),
        ("b" + WORD_BEFORE, "a|"),
        (HOME + RIGHT + WORD_AFTER, "a|"),
        ("b" + LEFT + LINE_AFTER, f"a{MARK}|"),
        (f"b\n{BACKSPACE}", f"a{MARK}b|"),
        (BACKSPACE + "\x1f", f"a{MARK}|"),
    ],
)
def test_a_mark_is_passed_and_erased_as_a_whole(keys: str, left: str):
    assert typed("a" + PASTE + keys) == left


def test_ctrl_space_and_ctrl_q_take_no_key_that_follows():
    assert typed("a\0bc") == "abc|"
    assert typed("a\x11b\x11" + BACKSPACE) == "a|"


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("/mo", "/model"),  # the other one has a key of its own
        ("/mod", "/model"),
        ("/mode", "/mode"),
        ("/ren", "/rename "),  # more is needed
        ("/us", "/stats"),  # as another agent calls it
        ("/usage", "/usage"),
        ("/m", "/m"),
        ("/zz", "/zz"),
        ("/mo plan", "/mo plan"),
        ("/mo/x", "/mo/x"),
        ("mo", "mo"),
        ("", ""),
    ],
)
def test_enter_takes_the_first_command_that_is_offered_for_one_that_is_begun(tmp_path: Path, typed: str, sent: str):
    async def run(_rest: str) -> Said:
        return Said("")

    async def offers() -> list[Offer]:
        return []

    completer = InputCompleter(FileIndex(str(tmp_path)))
    completer.use(
        SlashCommands(
            [
                SlashCommand("mode", "", run, "[MODE]"),
                SlashCommand("model", "", run, "[NAME]"),
                SlashCommand("rename", "", run, "NAME"),
                SlashCommand("trust", "", run, "yes | no", offers=offers),
                SlashCommand("stats", "", run),
            ]
        )
    )
    assert completer.whole(typed) == sent
    assert completer.whole("/tru") == "/trust"
