"""The loop: ask the model, run its calls, answer, until it rests.

Above it are the doors, which give it prompts and show its events; below it the model and the executor. It knows no
screen, no wire and no tool by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing
from functools import partial

import anyio

from dogu.agent.budget import Meter
from dogu.agent.events import (
    Emit,
    EndReason,
    Event,
    PromptGiven,
    TurnCancelled,
    TurnEnd,
    TurnEnded,
    TurnFailed,
    sum_usage,
)
from dogu.agent.history import History
from dogu.agent.housekeeping import AgentServices, with_note
from dogu.agent.loop_detection import LoopDetection
from dogu.agent.stream import TurnStream, fairly
from dogu.agent.system_prompt import Instructions
from dogu.contract.content import Content
from dogu.contract.errors import ErrorKind, ToolError
from dogu.contract.result import ToolResult
from dogu.language import sentence, told
from dogu.models.contents import model_content
from dogu.models.events import (
    Finished,
    FinishReason,
    FunctionCallEvent,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    Retrying,
    TextDelta,
    ThoughtDelta,
    Usage,
)
from dogu.models.model import Model
from dogu.models.reading import EndlessText
from dogu.runtime.events import (
    CallEvent,
    CallFinished,
    CallOutput,
    CallStarted,
    Noted,
    ToolAnswer,
    ToolCall,
    Within,
    emit_nothing,
    recording,
)
from dogu.runtime.executor import Executor

_MOST_PRINTED_CHARS = 8_000
_MOST_CUTS = 5
_KEPT_CHARS = 1_000
_AFTER_CUT = (
    "[Your answer was cut at the limit of output tokens. Go on exactly where it stopped, without repeating anything; "
    "what is too long for one answer is written in several calls.]"
)
_SAME_CALLS = (
    "[You have made the same calls five times over, with the same results. Making them again changes nothing: step "
    "back, say what is in the way, and try something else, or end with what you have.]"
)
_SAME_TEXT = (
    "[Your answer repeated the same text without end and was stopped there. Don't repeat it: go on with the task in "
    "other words, or end.]"
)


class Agent:
    """A conversation between a user and a model that has tools.

    `system` is what the model is told first: a text, or `Instructions` that may change. `max_steps` bounds the model
    requests of one turn; None is no bound. `services` are what stands beside the conversation: its record, its meter,
    its housekeeping.
    """

    def __init__(
        self,
        model: Model,
        executor: Executor,
        system: str | Instructions,
        *,
        history: History | None = None,
        max_steps: int | None = None,
        services: AgentServices | None = None,
    ) -> None:
        self.model = model
        self.executor = executor
        self.history = history or History()
        self.max_steps = max_steps
        self.services = services or AgentServices(Meter(model))
        self.is_in_turn = False
        self._system = system

    @property
    def system(self) -> str:
        """What the model is told before the first prompt, as it is now."""
        return self._system if isinstance(self._system, str) else self._system.text

    def give_system(self) -> str:
        """Return what the model is told first; from now on it stays."""
        return self._system if isinstance(self._system, str) else self._system.give()

    @property
    def usage(self) -> Usage:
        """The tokens of all requests so far."""
        return self.services.meter.usage

    async def run(self, prompt: Content, emit: Emit = emit_nothing, *, typed: str = "") -> TurnEnd:
        """Run one turn, from the prompt to rest. `typed` is what the user typed for it, where that is something else.

        Cancelled, it leaves a history that the next turn can use. Raises `ModelError` when the model gives no answer:
        the prompt is then taken back if nothing was done for it, so that it can be edited and sent again.
        """
        self.is_in_turn = True
        try:
            around = self.services.around_turn
            run = partial(self._run, typed=typed)
            return await (run(prompt, emit) if around is None else around(prompt, emit, run))
        finally:
            self.is_in_turn = False

    def stream(self, prompt: Content) -> TurnStream:
        """Run one turn as a stream of events: `async with agent.stream(prompt) as events: async for event in events`.

        Leaving the context early cancels the turn; `events.end` is its `TurnEnd` once they are over.
        """
        return TurnStream(partial(self.run, prompt))

    async def _run(self, prompt: Content, emit: Emit, *, typed: str) -> TurnEnd:
        record = self.services.record
        tell = recording(record, emit)
        turn = _Turn(self, tell)
        tell(PromptGiven(prompt, self.services.next_turn(), typed))
        try:
            await turn.make_room()
            turn.mark = self.history.mark()
            self.history.add_prompt(prompt)
            if news := self.services.housekeeping.news():
                self.history.add_prompt(news)
            end = await turn.to_rest()
            if end.reason is EndReason.BUDGET:
                turn.take_prompt_back()  # it can be sent again under a higher limit
        except ModelError as error:
            record(TurnFailed(str(error.kind), error.message))
            turn.take_prompt_back()
            raise
        except anyio.get_cancelled_exc_class():
            record(TurnCancelled())
            self.history.interrupt(turn.text, turn.results_so_far())
            raise
        tell(TurnEnded(end))
        return end

    def count(self, usage: Usage) -> None:
        """Add the tokens of a request that is no part of a turn, and record them."""
        self.services.meter.count(usage)


class _Turn:
    """One turn under way: what it has said and done so far."""

    def __init__(self, agent: Agent, emit: Callable[[Event | Within], None]) -> None:
        self._agent = agent
        self._services = agent.services
        self._tell = emit
        self._loops = LoopDetection()
        self._was_told = False  # that it repeats itself; the next time ends the turn
        self._endless = EndlessText()
        self._is_endless = False  # the answer was left because it repeated itself
        self._before_cut = ""  # of an answer that was cut at the token limit, what came so far
        self._cuts = 0
        self._usage = Usage()
        self.mark: tuple[int, bytes] | None = None  # where the history stood; None where there is no way back
        self.answers: list[ToolAnswer] = []
        self.results: dict[str, ToolResult] = {}
        self._printed: dict[str, str] = {}
        self.text = ""

    async def to_rest(self) -> TurnEnd:
        steps = 0
        while (limit := self._agent.max_steps) is None or steps < limit:
            steps += 1
            await self.make_room()
            if reason := self._services.meter.why_stop():
                return self._end(EndReason.BUDGET, reason)
            try:
                finished = await self._ask_in_room()
            except ModelError as error:
                if error.kind is not ModelErrorKind.LOOP:
                    raise
                self.take_prompt_back()
                return self._end(EndReason.LOOP, error.message)
            if finished is None:
                return self._end(EndReason.BUDGET, self._services.meter.why_stop())
            calls = self._agent.history.add_model(finished)
            end = await self._after_calls(calls) if calls else self._after_text(finished)
            if end is not None:
                return end
        words = sentence("Stopped after {limit} requests to the model in one turn, the limit that --max-turns sets.")
        return self._end(EndReason.STEP_LIMIT, told(words, limit=limit))

    async def _after_calls(self, calls: Sequence[ToolCall]) -> TurnEnd | None:
        """Run the calls; how the turn ends, if it does."""
        self._cuts, self._before_cut = 0, ""
        answers, is_looping = await self._run(calls)
        if any(answer.stop for answer in answers):
            return self._end(EndReason.STOPPED, _stop_note(answers))
        if any(answer.result.ends_turn for answer in answers):
            return self._end(EndReason.DONE)
        if not is_looping:
            return None
        self._loops.clear()
        is_first, self._was_told = not self._was_told, True
        if is_first or await self._goes_on():
            return None
        return self._end(EndReason.LOOP, told("Stopped: the model kept making the same calls."))

    def _after_text(self, finished: Finished) -> TurnEnd | None:
        """How the turn ends with an answer that makes no calls; None when the model goes on."""
        history = self._agent.history
        if self._is_endless:
            if self._was_told:
                return self._end(EndReason.LOOP, told("Stopped: the model kept repeating the same text."))
            self._was_told = True
            history.add_prompt(_SAME_TEXT)
            return None
        if finished.reason is not FinishReason.LENGTH:
            return self._end(EndReason.DONE, finished.note)
        if not self.text.strip():  # thoughts took all of it, and would again
            return self._end(EndReason.CUT, finished.note)
        self._cuts += 1
        if self._cuts > _MOST_CUTS:
            note = told("Stopped: the answer was cut at the model's output limit {count} times.", count=self._cuts)
            return self._end(EndReason.CUT, note)
        self._before_cut += self.text
        history.add_prompt(_AFTER_CUT)
        return None

    def take_prompt_back(self) -> None:
        """Go back to before the prompt, if nothing was done for it."""
        if not self.answers and self.mark is not None:
            self._agent.history.rewind(self.mark)

    async def make_room(self, *, is_too_long: bool = False) -> bool:
        """Let room be made in the history; then there is no way back to before the turn."""
        made = await self._services.housekeeping.make_room(self._tell, is_too_long=is_too_long)
        self.mark = None if made else self.mark
        return made

    async def _ask_in_room(self) -> Finished | None:
        """Ask; when the model says that it got too much, make room and ask once more.

        None where a try failed, and what it cost leaves nothing for another.
        """
        try:
            return await self._ask()
        except ModelError as error:
            if error.kind is not ModelErrorKind.TOO_LONG or not await self.make_room(is_too_long=True):
                raise
        return await self._ask()

    async def _ask(self) -> Finished | None:
        agent = self._agent
        self.text, self._is_endless, self._endless = "", False, EndlessText()
        stream = agent.model.stream(agent.give_system(), agent.history.contents, agent.executor.registry.declarations)
        finished: Finished | None = None
        async with stream as events, aclosing(fairly(events)) as passed:
            async for event in passed:
                if isinstance(event, Finished):
                    finished = event
                repeats_itself = self._heard(event)
                self._tell(event)
                if isinstance(event, Retrying) and self._services.meter.why_stop():
                    return None
                if repeats_itself:
                    finished = self._leave_endless()
                    break
        if finished is None:
            raise RuntimeError(f"the model {agent.model.name} ended its stream without Finished")
        return finished

    def _heard(self, event: ModelEvent) -> bool:
        """Take in an event of the answer; whether what is said there has no end of its own."""
        match event:
            case TextDelta(text=text):
                self.text += text
                return self._endless.add(text)
            case ThoughtDelta(text=text):
                return self._endless.add(text)
            case Retrying():
                self.text, self._endless = "", EndlessText()
            case Usage():
                self._usage = sum_usage(self._usage, event)
                self._services.housekeeping.measured(event)
                self._services.meter.add(event)
            case FunctionCallEvent() | Finished():
                pass
        return False

    def _leave_endless(self) -> Finished:
        """What is kept of an answer that is left because it repeats itself; the server's count of it never comes."""
        self._is_endless = True
        guessed = Usage(output=len(self.text) // 4, total=len(self.text) // 4)
        self._services.meter.add(guessed)
        self._usage = sum_usage(self._usage, guessed)
        self._tell(guessed)
        finished = Finished(FinishReason.OTHER, model_content(f"{self.text[:_KEPT_CHARS]}…"))
        self._tell(finished)
        return finished

    async def _run(self, calls: Sequence[ToolCall]) -> tuple[list[ToolAnswer], bool]:
        """Run the calls and answer the model; whether it seems to loop, which the first time it is told."""
        self.results, self._printed = {}, {}
        answers = await self._agent.executor.run_all(calls, self._call_event)
        self.answers += answers
        is_looping = self._loops.add(answers)
        noted = dict(await self._services.housekeeping.noted(answers))
        if is_looping and not self._was_told:
            last = answers[-1].call.call_id
            noted[last] = with_note(noted.get(last, answers[-1].result), _SAME_CALLS)
        self._agent.history.answer(
            {answer.call.call_id: answer.result for answer in answers} | noted,
            media_inside=self._agent.model.takes_media_in_answers,
        )
        return answers, is_looping

    def _call_event(self, event: CallEvent | Within) -> None:
        """Pass an event on, keeping results as they come: a cancelled turn must not forget what was done."""
        shown = event.event if isinstance(event, Within) else event
        match shown:
            case CallFinished(call=call, result=result):
                self.results[call.call_id] = result
                if call.parent:
                    self.answers.append(ToolAnswer(call, result))
            case CallOutput(call_id=call_id, text=text):
                self._printed[call_id] = (self._printed.get(call_id, "") + text)[-_MOST_PRINTED_CHARS:]
            case CallStarted() | Noted():
                pass
        self._services.housekeeping.saw(shown)
        self._tell(event)

    def results_so_far(self) -> dict[str, ToolResult]:
        """The results of the calls that ended, and what the others had printed."""
        return {**{call_id: _interrupted(text) for call_id, text in self._printed.items()}, **self.results}

    async def _goes_on(self) -> bool:
        ask = self._services.ask_to_go_on
        return ask is not None and await ask(
            told("The model keeps making the same calls and getting the same results. Continue?")
        )

    def _end(self, reason: EndReason, note: str = "") -> TurnEnd:
        return TurnEnd(reason, self._before_cut + self.text, tuple(self.answers), self._usage, note)


def _interrupted(printed: str) -> ToolResult:
    message = f"Interrupted by the user before it ended. It had printed:\n{printed}"
    return ToolResult.failed(ToolError(ErrorKind.CANCELLED, message))


def _stop_note(answers: Sequence[ToolAnswer]) -> str:
    first = next(answer.result for answer in answers if answer.stop)
    is_users = first.error is not None and first.error.kind is ErrorKind.DECLINED
    return told("Stopped.") if is_users else told("Stopped by a hook.")
