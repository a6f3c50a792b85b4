"""What ANTLR's prediction can be at: configurations, and all that is reached from one without reading a token.

Source: antlr4-go (ATNConfigSet; ParserATNSimulator: closure, its predicates and its left-recursive loops).
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.cel.antlr_network import Edge, Network
from gputopo.cel.antlr_stacks import EMPTY, Stacks, merged, pushed

_EOF = "<EOF>"


class Config(NamedTuple):
    """One way to be somewhere: state, alternative, callers; `needs` is a precedence that must not be below the asked
    one, `up` whether the rule of the decision was left, `kept` whether that was by a call of itself."""

    state: int
    alternative: int
    stacks: Stacks
    needs: int = 0
    up: bool = False
    kept: bool = False


class Configs:
    """In the order of their addition; those that differ in the callers alone are one."""

    def __init__(self, full: bool) -> None:
        self.full = full
        self.found: dict[tuple[int, int, int], Config] = {}

    def add(self, config: Config) -> None:
        key = (config.state, config.alternative, config.needs)
        known = self.found.get(key)
        if known is not None:
            stacks = merged(known.stacks, config.stacks, not self.full)
            config = known._replace(stacks=stacks, up=known.up or config.up, kept=known.kept or config.kept)
        self.found[key] = config


class Closure:
    """Fills `configs`. With a `precedence`, at the beginning, the predicates of the decision's own rule count."""

    def __init__(self, net: Network, configs: Configs, decision: int, precedence: int | None = None) -> None:
        self.net, self.configs, self.precedence = net, configs, precedence
        self.steps = 0
        self._looping = net.rules[decision] if decision in net.ends else ""
        self._seen: set[Config] = set()

    def close(self, config: Config, through: bool = False) -> None:
        """`through`: the end of the text can be read any number of times."""
        if self.precedence is not None:
            self._seen = set()
        full, net = self.configs.full, self.net
        waiting = [(config, 0, False)]
        while waiting:
            config, depth, once = waiting.pop()
            self.steps += 1
            if once:
                if config in self._seen:
                    continue
                self._seen.add(config)
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

    def _usable(self, config: Config, edges: list[Edge]) -> list[Edge]:
        if config.state not in self.net.ends or config.stacks is EMPTY:
            return edges
        dropped = self.net.drops_entry(config.state, [state for state, _ in config.stacks.calls])
        return edges[1:] if dropped else edges

    def _step(self, config: Config, depth: int, edge: Edge, through: bool) -> tuple[Config, int, bool] | None:
        if edge.tokens:
            return (config._replace(state=edge.target), depth, True) if through and _EOF in edge.tokens else None
        if edge.follow >= 0:
            stacks = pushed(config.stacks, edge.follow)
            return config._replace(state=edge.target, stacks=stacks), depth + 1 if depth >= 0 else depth, False
        if edge.predicate:
            return self._predicate(config, depth, edge)
        if self.net.is_stop(config.state):
            kept = config.kept or bool(self._looping and edge.outermost == self._looping)
            return config._replace(state=edge.target, up=True, kept=kept), depth - 1, True
        return config._replace(state=edge.target), depth, False

    def _predicate(self, config: Config, depth: int, edge: Edge) -> tuple[Config, int, bool] | None:
        new = config._replace(state=edge.target)
        if self.precedence is None or depth:
            return new, depth, False
        if self.configs.full:
            return (new, depth, False) if edge.predicate >= self.precedence else None
        needs = min(config.needs, edge.predicate) if config.needs else edge.predicate
        return new._replace(needs=needs), depth, False
