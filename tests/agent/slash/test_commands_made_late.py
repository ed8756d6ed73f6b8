"""Commands that are made when the first of them is asked for, by whoever asks first."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

from dogu.agent.slash import Said, SlashCommand, SlashCommands


async def _say(_arguments: str) -> Said:
    return Said("said")


def test_a_command_is_known_to_all_who_ask_while_it_is_made() -> None:
    are_asked, nobody_waits = Barrier(2), Event()

    def make() -> list[SlashCommand]:
        nobody_waits.wait(0.1)  # long enough for the other to ask
        return [SlashCommand("model", "choose a model", _say)]

    commands = SlashCommands(first=make)

    def ask(_number: int) -> bool:
        are_asked.wait()
        return commands.means("/model")

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(ask, range(2))) == [True, True]


def test_one_registered_takes_the_place_of_one_that_is_made_later() -> None:
    commands = SlashCommands(first=lambda: [SlashCommand("new", "ours", _say), SlashCommand("old", "ours", _say)])
    commands.register(SlashCommand("new", "theirs", _say))
    assert [(each.name, each.help) for each in commands] == [("new", "theirs"), ("old", "ours")]


def test_a_text_that_begins_with_no_slash_makes_none() -> None:
    def make() -> list[SlashCommand]:
        raise AssertionError("nobody has asked for a command")

    assert not SlashCommands(first=make).means("hello")
