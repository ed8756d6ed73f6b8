"""What the terminal says of the frames it drew: which were drawn for another width than it had."""

from __future__ import annotations

import anyio
import pytest
from prompt_toolkit.data_structures import Point, Size
from prompt_toolkit.layout.screen import Screen

from dogu.serve.terminal.size_probes import ANSWER, QUESTION, Frame, SizeProbes

pytestmark = pytest.mark.anyio
WIDE, NARROW = Size(24, 80), Size(24, 40)


def frame(printed: str = "", size: Size = WIDE) -> Frame:
    return Frame(size, Screen(), Point(0, 0), printed)


@pytest.fixture
def answering() -> SizeProbes:
    size_probes = SizeProbes()
    assert size_probes.first_question() == QUESTION
    size_probes.told(WIDE, WIDE)
    return size_probes


async def test_a_terminal_that_never_answers_is_asked_once():
    size_probes = SizeProbes()
    size_probes.first_question()
    assert size_probes.drawn(frame(), is_busy=True) == ""
    assert not size_probes.is_waiting()


async def test_only_what_is_drawn_while_something_is_under_way_is_asked_about(answering: SizeProbes):
    assert answering.drawn(frame(), is_busy=False) == ""
    assert answering.drawn(frame(), is_busy=True) == QUESTION
    assert answering.is_waiting()
    answering.told(WIDE, WIDE)
    assert not answering.is_waiting()
    assert answering.misdrawn() is None


async def test_all_frames_since_the_last_good_one_are_mended_once(answering: SizeProbes):
    good = frame("good\n")
    for drawn in (good, frame("one\n"), frame("two\n")):
        answering.drawn(drawn, is_busy=True)
    answering.told(WIDE, WIDE)
    answering.told(NARROW, WIDE)
    misdrawn = answering.misdrawn()
    assert misdrawn is not None
    assert (misdrawn.base, misdrawn.columns) == (good, 40)
    assert [each.printed for each in misdrawn.frames] == ["one\n", "two\n"]
    answering.told(NARROW, WIDE)  # the answer to a frame that is mended already
    assert answering.misdrawn() is None


async def test_an_answer_that_comes_late_tells_what_was_misdrawn_and_nothing_is_held_up_for_it(answering: SizeProbes):
    late = frame("late\n")
    answering.drawn(late, is_busy=True)
    late.asked_at -= 1
    assert not answering.is_waiting()
    answering.drawn(frame("later\n"), is_busy=False)
    answering.told(NARROW, WIDE)
    misdrawn = answering.misdrawn()
    assert misdrawn is not None
    assert [each.printed for each in misdrawn.frames] == ["late\n", "later\n"]


async def test_an_answer_that_never_comes_is_given_up(answering: SizeProbes):
    lost = frame("lost\n")
    answering.drawn(lost, is_busy=True)
    lost.asked_at -= 60
    assert answering.drawn(frame(), is_busy=False) == ""
    answering.told(NARROW, WIDE)  # late at last, and of a frame that is forgotten
    assert answering.misdrawn() is None


async def test_the_size_it_says_holds_until_the_system_knows_another(answering: SizeProbes):
    answering.drawn(frame(), is_busy=True)
    answering.told(NARROW, WIDE)
    assert answering.size(WIDE) == NARROW
    assert answering.size(Size(24, 50)) == Size(24, 50)
    assert answering.size(WIDE) == WIDE


async def test_answers_are_taken_in_before_another_program_reads(answering: SizeProbes):
    answering.drawn(frame(), is_busy=True)
    async with anyio.create_task_group() as group:
        group.start_soon(answering.all_told)
        await anyio.lowlevel.checkpoint()
        answering.told(WIDE, WIDE)
    assert not answering.listens


def test_an_answer_is_no_key():
    assert ANSWER.fullmatch("\x1b[24;80R")
    assert not ANSWER.search("\x1b[A\x1b[1;5C")


async def test_while_the_size_changes_it_is_asked_for_before_a_frame_and_what_is_told_is_drawn_for(
    answering: SizeProbes,
):
    assert not answering.is_unsure(WIDE)
    assert answering.is_unsure(NARROW), "the next change may be on its way"
    assert answering.is_awaited
    answering._changed_at -= 0.2
    answering._heard_at -= 0.2
    assert answering.is_unsure(NARROW)
    assert answering.question(NARROW) == QUESTION
    assert answering.question(NARROW) == "", "one at a time"
    assert answering.is_awaited
    answering.told(WIDE, NARROW)
    assert answering.size(NARROW) == WIDE, "it is another one already, or still"
    assert answering.misdrawn() is None, "nothing was drawn"


async def test_a_size_that_never_settles_is_drawn_for_at_last(answering: SizeProbes):
    assert not answering.is_unsure(WIDE)
    assert answering.is_unsure(NARROW)
    answering._began_to_change_at -= 10
    assert not answering.is_awaited


async def test_of_a_mute_terminal_nothing_is_asked_before_a_frame():
    size_probes = SizeProbes()
    assert not size_probes.is_unsure(WIDE)
    assert size_probes.is_unsure(NARROW)
    assert size_probes.question(NARROW) == ""
