"""ANTLR's adaptive prediction: which alternative of a decision the coming tokens belong to.

First without regard to who called the rule (SLL), remembering what was found; where that conflicts, with it (LL).
Source: antlr4-go (ParserATNSimulator, PredictionMode), the order of whose steps decides where an error is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from gputopo.cel import antlr_stacks
from gputopo.cel.antlr_closure import Closure, Config, Configs
from gputopo.cel.antlr_network import Network, network
from gputopo.cel.antlr_stacks import EMPTY, Stacks, pushed
from gputopo.cel.tokens import Token

_EOF = "<EOF>"
_MOST_STATES, _MOST_STACKS = 4000, 50_000  # remembered at most
_MOST_WORK = 400_000  # configurations that one text may need


class NoViable(Exception):
    """No alternative fits: the token at which that is seen, counted from the first token looked at."""

    def __init__(self, ahead: int) -> None:
        super().__init__(ahead)
        self.ahead = ahead


class TooMuchWork(Exception):
    """The text needs more looking ahead than it is worth."""


class _State:
    """What was found out after some tokens of a decision. `alternative` 0: more tokens are needed."""

    __slots__ = ("alternative", "choices", "configs", "conflict", "next")

    def __init__(self, configs: tuple[Config, ...]) -> None:
        self.configs = configs
        self.next: dict[str, _State | None] = {}
        self.alternative = 0
        self.conflict = False
        self.choices: list[tuple[int, int]] = []  # (alternative, the precedence it needs), where any needs one


class Callers(NamedTuple):
    """Who called the rule of the decision: the states of the calls, the nearest first; the precedence asked of it."""

    states: tuple[int, ...]
    precedence: int


class Predictor:
    def __init__(self, net: Network) -> None:
        self.net = net
        self._starts: dict[tuple[int, int], _State] = {}
        self._known: dict[tuple[int, tuple[Config, ...], int, bool], _State] = {}
        self.work = 0

    @property
    def crowded(self) -> bool:
        return len(self._known) > _MOST_STATES or antlr_stacks.known() > _MOST_STACKS

    def predict(self, decision: int, ahead: Callable[[int], Token], callers: Callers) -> int:
        """The alternative, from 1. `ahead(0)` is the next token. Raises NoViable or TooMuchWork."""
        state = self._start(decision, callers.precedence)
        place = 0
        while True:
            kind = ahead(place).kind
            if kind not in state.next:
                state.next[kind] = self._after(decision, state, kind)
            following = state.next[kind]
            if following is None:
                found = _finished(state.configs, callers.precedence)
                if found:
                    return found
                raise NoViable(place)
            if following.conflict:
                chosen = _satisfied(following.choices, callers.precedence)
                return chosen[0] if len(chosen) == 1 else self._with_callers(decision, ahead, callers)
            if following.choices:
                chosen = _satisfied(following.choices, callers.precedence)
                if not chosen:
                    raise NoViable(0)
                return min(chosen)
            if following.alternative:
                return following.alternative
            state = following
            place += kind != _EOF

    def _start(self, decision: int, precedence: int) -> _State:
        recursive = decision in self.net.ends
        key = (decision, precedence if recursive else 0)
        known = self._starts.get(key)
        if known is None:
            configs = self._begin(decision, EMPTY, precedence, full=False)
            if recursive:
                configs = _filtered(configs, precedence)
            known = self._starts[key] = self._remembered(decision, _State(tuple(configs.found.values())))
        return known

    def _begin(self, decision: int, stacks: Stacks, precedence: int, full: bool) -> Configs:
        configs = Configs(full)
        closure = Closure(self.net, configs, decision, precedence)
        for place, edge in enumerate(self.net.edges[decision]):
            closure.close(Config(edge.target, place + 1, stacks))
        self._worked(closure.steps)
        return configs

    def _remembered(self, decision: int, state: _State) -> _State:
        return self._known.setdefault((decision, state.configs, state.alternative, state.conflict), state)

    def _after(self, decision: int, state: _State, kind: str) -> _State | None:
        reached = self._reach(state.configs, kind, decision, full=False)
        if not reached:
            return None
        new = _State(reached)
        alternatives = {config.alternative for config in reached}
        if len(alternatives) == 1:
            new.alternative = min(alternatives)
        elif all(self.net.is_stop(config.state) for config in reached) or _conflicting(reached):
            new.conflict = True
        if (new.alternative or new.conflict) and any(config.needs for config in reached):
            new.choices = _choices(reached, alternatives)
        return self._remembered(decision, new)

    def _with_callers(self, decision: int, ahead: Callable[[int], Token], callers: Callers) -> int:
        stacks = EMPTY
        for state in reversed(callers.states):
            stacks = pushed(stacks, self.net.edges[state][0].follow)
        configs = tuple(self._begin(decision, stacks, callers.precedence, full=True).found.values())
        place = 0
        while True:
            kind = ahead(place).kind
            reached = self._reach(configs, kind, decision, full=True)
            if not reached:
                found = _finished(configs, callers.precedence)
                if found:
                    return found
                raise NoViable(0)  # antlr4-go has gone back to the first token when it reports
            found = _single({config.alternative for config in reached}) or _single(map(min, _subsets(reached)))
            if found:
                return found
            configs = reached
            place += kind != _EOF

    def _reach(self, configs: Iterable[Config], kind: str, decision: int, full: bool) -> tuple[Config, ...]:
        """What the configurations become by one token, with all that can be reached from there without one."""
        net, read, stopped = self.net, Configs(full), []
        for config in configs:
            if net.is_stop(config.state):
                if full or kind == _EOF:
                    stopped.append(config)
                continue
            for edge in net.edges[config.state]:
                if kind in edge.tokens:
                    read.add(config._replace(state=edge.target))
        found = list(read.found.values())
        self._worked(len(found) + 1)
        if not stopped and kind != _EOF and len({config.alternative for config in found}) == 1:
            return tuple(found)
        reached = Configs(full)
        closure = Closure(net, reached, decision)
        for config in found:
            closure.close(config, through=kind == _EOF)
        self._worked(closure.steps)
        if kind == _EOF:
            kept = Configs(full)
            for config in reached.found.values():
                if net.is_stop(config.state):
                    kept.add(config)
            reached = kept
        if stopped and not (full and any(net.is_stop(config.state) for config in reached.found.values())):
            for config in stopped:
                reached.add(config)
        return tuple(reached.found.values())

    def _worked(self, configs: int) -> None:
        self.work += configs
        if self.work > _MOST_WORK:
            raise TooMuchWork


def _filtered(configs: Configs, precedence: int) -> Configs:
    """Of a left-recursive loop: what going on can do as well, leaving it does not do."""
    kept = Configs(full=False)
    going_on: dict[int, Stacks] = {}
    for config in configs.found.values():
        if config.alternative == 1 and (not config.needs or config.needs >= precedence):
            going_on[config.state] = config.stacks
            kept.add(config._replace(needs=0))
    for config in configs.found.values():
        if config.alternative != 1 and (config.kept or going_on.get(config.state) is not config.stacks):
            kept.add(config)
    return kept


def _finished(configs: tuple[Config, ...], precedence: int) -> int:
    """The first alternative that had come to the end of the rule, 0 for none."""
    ended = [config for config in configs if config.up or (config.stacks is EMPTY and _ends(config))]
    fine = [config.alternative for config in ended if not config.needs or config.needs >= precedence]
    return min(fine or [config.alternative for config in ended], default=0)


def _ends(config: Config) -> bool:
    return network().is_stop(config.state)


def _subsets(configs: tuple[Config, ...]) -> list[set[int]]:
    """The alternatives of each place with the same callers."""
    found: dict[tuple[int, Stacks], set[int]] = {}
    for config in configs:
        found.setdefault((config.state, config.stacks), set()).add(config.alternative)
    return list(found.values())


def _conflicting(configs: tuple[Config, ...]) -> bool:
    states: dict[int, set[int]] = {}
    for config in configs:
        states.setdefault(config.state, set()).add(config.alternative)
    return all(len(one) > 1 for one in states.values()) and any(len(one) > 1 for one in _subsets(configs))


def _choices(configs: tuple[Config, ...], alternatives: set[int]) -> list[tuple[int, int]]:
    """The alternatives with the precedence each needs at least; 0 where one way needs none."""
    needs: dict[int, int] = {}
    for config in configs:
        if config.alternative in alternatives:
            known = needs.get(config.alternative)
            weaker = known is None or (known and (not config.needs or config.needs > known))
            needs[config.alternative] = config.needs if weaker else known or 0
    return sorted(needs.items()) if any(needs.values()) else []


def _satisfied(choices: list[tuple[int, int]], precedence: int) -> list[int]:
    return [alternative for alternative, needs in choices if not needs or needs >= precedence]


def _single(alternatives: Iterable[int]) -> int:
    found = set(alternatives)
    return min(found) if len(found) == 1 else 0


@lru_cache(maxsize=1)
def _predictor() -> Predictor:
    return Predictor(network())


def predictor() -> Predictor:
    """The one that remembers what earlier texts needed, unless that has become too much."""
    if _predictor().crowded:
        _predictor.cache_clear()
        antlr_stacks.forget()
    _predictor().work = 0
    return _predictor()
