"""ANTLR's adaptive prediction: which alternative of a decision the coming tokens belong to.

First without regard to who called the rule (SLL), remembering what was found; where that conflicts, with it (LL).
Source: antlr4-go (ParserATNSimulator, PredictionMode), the order of whose steps decides where an error is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from gputopo.cel import antlr_stacks
from gputopo.cel.antlr_network import Edge, Network, network
from gputopo.cel.antlr_stacks import EMPTY, Stacks, merged, pushed
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


class _Config(NamedTuple):
    """One way to be somewhere: state, alternative, callers; `needs` is a precedence that must not be below the asked
    one, `up` whether the rule of the decision was left, `kept` whether that was by a call of itself."""

    state: int
    alternative: int
    stacks: Stacks
    needs: int = 0
    up: bool = False
    kept: bool = False


class _Configs:
    """In the order of their addition; those that differ in the callers alone are one."""

    def __init__(self, full: bool) -> None:
        self.full = full
        self.found: dict[tuple[int, int, int], _Config] = {}

    def add(self, config: _Config) -> None:
        key = (config.state, config.alternative, config.needs)
        known = self.found.get(key)
        if known is not None:
            stacks = merged(known.stacks, config.stacks, not self.full)
            config = known._replace(stacks=stacks, up=known.up or config.up, kept=known.kept or config.kept)
        self.found[key] = config


class _State:
    """What was found out after some tokens of a decision. `alternative` 0: more tokens are needed."""

    __slots__ = ("alternative", "choices", "configs", "conflict", "next")

    def __init__(self, configs: tuple[_Config, ...]) -> None:
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
        self._known: dict[tuple[int, tuple[_Config, ...]], _State] = {}
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

    def _begin(self, decision: int, stacks: Stacks, precedence: int, full: bool) -> _Configs:
        configs = _Configs(full)
        walk = _Walk(self, configs, decision, precedence, collects=True)
        for place, edge in enumerate(self.net.edges[decision]):
            walk.close(_Config(edge.target, place + 1, stacks))
        return configs

    def _remembered(self, decision: int, state: _State) -> _State:
        return self._known.setdefault((decision, state.configs), state)

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
            alternatives = {config.alternative for config in reached}
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

    def _reach(self, configs: Iterable[_Config], kind: str, decision: int, full: bool) -> tuple[_Config, ...]:
        """What the configurations become by one token, with all that can be reached from there without one."""
        net, read, stopped = self.net, _Configs(full), []
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
        reached = _Configs(full)
        walk = _Walk(self, reached, decision, 0, collects=False)
        for config in found:
            walk.close(config, through=kind == _EOF)
        if kind == _EOF:
            kept = _Configs(full)
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


class _Walk:
    """One closure: what can be reached without reading a token."""

    def __init__(self, predictor: Predictor, configs: _Configs, decision: int, precedence: int, collects: bool) -> None:
        self.predictor, self.net, self.configs = predictor, predictor.net, configs
        self.decision, self.precedence, self.collects = decision, precedence, collects
        self.rule = self.net.rules[decision] if decision in self.net.ends else ""
        self.seen: set[_Config] = set()

    def close(self, config: _Config, through: bool = False) -> None:
        """`through`: the end of the text can be read any number of times."""
        if self.collects:
            self.seen = set()
        full, net = self.configs.full, self.net
        waiting = [(config, 0, False)]
        steps = 0
        while waiting:
            config, depth, once = waiting.pop()
            steps += 1
            if once:
                if config in self.seen:
                    continue
                self.seen.add(config)
            if net.is_stop(config.state):
                if config.stacks is not EMPTY:
                    # The last caller is looked at first.
                    for state, below in config.stacks.calls:
                        waiting.append((config._replace(state=state, stacks=below, kept=False), depth, False))
                    continue
                if full:
                    self.configs.add(config)
                    continue
            edges = net.edges[config.state]
            if not edges or net.reading[config.state]:
                self.configs.add(config)
            following = [self._step(config, depth, edge, through) for edge in self._usable(config, edges)]
            waiting += [step for step in reversed(following) if step is not None]
        self.predictor._worked(steps)

    def _usable(self, config: _Config, edges: list[Edge]) -> list[Edge]:
        if config.state not in self.net.ends or config.stacks is EMPTY:
            return edges
        dropped = self.net.drops_entry(config.state, [state for state, _ in config.stacks.calls])
        return edges[1:] if dropped else edges

    def _step(self, config: _Config, depth: int, edge: Edge, through: bool) -> tuple[_Config, int, bool] | None:
        if edge.tokens:
            return (config._replace(state=edge.target), depth, True) if through and _EOF in edge.tokens else None
        if edge.follow >= 0:
            stacks = pushed(config.stacks, edge.follow)
            return config._replace(state=edge.target, stacks=stacks), depth + 1 if depth >= 0 else depth, False
        if edge.predicate:
            return self._predicate(config, depth, edge)
        if self.net.is_stop(config.state):
            kept = config.kept or bool(self.rule and edge.outermost == self.rule)
            return config._replace(state=edge.target, up=True, kept=kept), depth - 1, True
        return config._replace(state=edge.target), depth, False

    def _predicate(self, config: _Config, depth: int, edge: Edge) -> tuple[_Config, int, bool] | None:
        new = config._replace(state=edge.target)
        if not self.collects or depth:
            return new, depth, False
        if self.configs.full:
            return (new, depth, False) if edge.predicate >= self.precedence else None
        needs = min(config.needs, edge.predicate) if config.needs else edge.predicate
        return new._replace(needs=needs), depth, False


def _filtered(configs: _Configs, precedence: int) -> _Configs:
    """Of a left-recursive loop: what going on can do as well, leaving it does not do."""
    kept = _Configs(full=False)
    going_on: dict[int, Stacks] = {}
    for config in configs.found.values():
        if config.alternative == 1 and (not config.needs or config.needs >= precedence):
            going_on[config.state] = config.stacks
            kept.add(config._replace(needs=0))
    for config in configs.found.values():
        if config.alternative != 1 and (config.kept or going_on.get(config.state) is not config.stacks):
            kept.add(config)
    return kept


def _finished(configs: tuple[_Config, ...], precedence: int) -> int:
    """The first alternative that had come to the end of the rule, 0 for none."""
    ended = [config for config in configs if config.up or (config.stacks is EMPTY and _ends(config))]
    fine = [config.alternative for config in ended if not config.needs or config.needs >= precedence]
    return min(fine or [config.alternative for config in ended], default=0)


def _ends(config: _Config) -> bool:
    return network().is_stop(config.state)


def _subsets(configs: tuple[_Config, ...]) -> list[set[int]]:
    """The alternatives of each place with the same callers."""
    found: dict[tuple[int, Stacks], set[int]] = {}
    for config in configs:
        found.setdefault((config.state, config.stacks), set()).add(config.alternative)
    return list(found.values())


def _conflicting(configs: tuple[_Config, ...]) -> bool:
    states: dict[int, set[int]] = {}
    for config in configs:
        states.setdefault(config.state, set()).add(config.alternative)
    return all(len(one) > 1 for one in states.values()) and any(len(one) > 1 for one in _subsets(configs))


def _choices(configs: tuple[_Config, ...], alternatives: set[int]) -> list[tuple[int, int]]:
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
