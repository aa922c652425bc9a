"""The search for the best path of some options under some budgets, and for why it is the best."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import solvers
from solvers import PathProblem, Status
from tape.choice.amounts import WIDE, digits, plain, told_apart, whole, written
from tape.choice.answer import Choice, More, Why
from tape.choice.frontiers import VALUE, criteria_of, frontier_paths, proven_frontier, unlimited, valued
from tape.choice.options import EdgeOption, PlanSpace
from tape.choice.ranking import LOOK, Ranking, comparable
from tape.choice.rules import Floor, Rule, broken, contradiction, reached, under_rules
from tape.errors import GraphError, TapeError

if TYPE_CHECKING:
    from solvers.proof_file import Proof


def more_of_each(
    problem: PathProblem, amount: Callable[[str, int], Decimal], choose: Callable[[str, Decimal], Choice], now: Choice
) -> dict[str, More]:
    """For each budget that alone buys a better plan the next cap with which it does, and that plan."""
    mapping = {}
    for name, given in zip(problem.resources, problem.budgets, strict=True):
        try:
            need = solvers.next_budget(problem, name)
        except solvers.EndlessError:
            continue
        if need.least is None:
            continue
        cap, by = amount(name, need.least), amount(name, need.least - given)
        then = choose(name, cap)
        if then.plan is None or then.value is None:
            raise TapeError(f"a cap of {cap} on {name} is said to buy a better plan, and buys none")
        instead = (
            "would fit"
            if now.value is None
            else "would be worth {} instead of {}".format(*told_apart(then.value, now.value))
        )
        text = f"With {name} at {written(name, cap)} ({written(name, by)} more), {then.plan!r} {instead}."
        mapping[name] = More(cap, by, then.plan, then.value, text)
    return mapping


class PlanSearch:
    """The problem of some options under some budgets, and its answers.

    Raises:
        GraphError: No horizon is given, and none is enough.
    """

    def __init__(
        self, space: PlanSpace, caps: Mapping[str, Decimal], texts: Mapping[str, str], rules: Sequence[Rule] = ()
    ) -> None:
        self._free, self._rules = space, rules
        space = under_rules(space, rules)
        self._found, self._caps, self._texts = space, dict(caps), texts
        costs = [option.cost for option in space.options]
        self._gains = [option.gain for option in space.options]
        unknown = {name for cost in costs for name, amount in cost.items() if amount is None}
        named = dict.fromkeys([*caps, *(name for cost in costs for name in cost)])
        self._floors = [rule for rule in rules if isinstance(rule, Floor)]
        levels = {floor.name for floor in self._floors}
        self._resources = [name for name in named if name not in unknown and name not in levels]
        # Whole numbers of the finest digit that any amount of a resource has.
        self._digits = {
            name: digits([*(cost.get(name) or Decimal(0) for cost in costs), caps.get(name, Decimal(0))])
            for name in self._resources
        }
        self._worth = whole(self._gains)
        problem = PathProblem(
            n_nodes=len(space.names),
            edges=[(option.tail, option.head) for option in space.options],
            rewards=[0] * len(space.names),
            costs=[[self._count(name, cost.get(name)) for name in caps] for cost in costs],
            budgets=[self._count(name, cap) for name, cap in caps.items()],
            start=space.start,
            terminals=space.ends,
            horizon=1 if space.moves is None else space.moves,
            resources=list(caps),
            objective="visit",
        )
        if space.moves is None:
            worth, rounded = comparable(self._worth, len(space.names), 0)  # of circles, to see which of them earn
            problem = replace(problem, edge_rewards=[*map(float, self._gains)] if rounded else worth)
            problem = replace(problem, horizon=self._enough(problem))
        self._problem, self._ranking = problem, Ranking(problem, self._worth)
        self._plain = self._ranking.plain

    def _count(self, name: str, amount: Decimal | None) -> int:
        return int((amount or Decimal(0)).scaleb(self._digits[name], context=WIDE))

    def _amount(self, name: str, count: int) -> Decimal:
        return plain(Decimal(count).scaleb(-self._digits[name], context=WIDE))

    def _written(self, name: str, count: int) -> str:
        """A count as people read it; a budget as it was written."""
        if name in self._texts and count == self._count(name, self._caps[name]):
            return self._texts[name]
        return written(name, self._amount(name, count))

    def _enough(self, problem: PathProblem) -> int:
        try:
            return solvers.enough_moves(problem)
        except solvers.EndlessError as error:
            circle = [self._found.options[edge] for edge in error.circle]
            steps = "".join(f"{self._found.names[item.tail]} --{item.step}--> " for item in circle)
            raise GraphError(
                f"the circle {steps}{self._found.names[circle[0].tail]} has no end: {error.reason}; say how many steps "
                "a plan may have by horizon="
            ) from error

    def answer(self, k: int, frontier: Sequence[str], epsilon: float, *, proof: bool = False) -> Choice:
        """The best path with its reason, k - 1 alternatives at most, and the frontier and the proof if asked for."""
        paths = self.best(k)
        first, *others = [self.choice(path) for path in paths] or [self.nothing()]
        why = self.why(paths[0], first) if paths else self.why_not()
        first = replace(first, why=self._with_rules(why, first) if self._rules else why)
        if proof:
            first = self._proven(first, paths[0] if paths else None)
        plans, shown = self.frontier(frontier, epsilon, proof=proof)
        return replace(first, alternatives=tuple(others), frontier=plans, frontier_proof=shown)

    def _proven(self, choice: Choice, path: tuple[int, ...] | None) -> Choice:
        """A choice with its proof; its reason says whether there is one."""
        from solvers.check_proof import ProofError  # not needed otherwise
        from solvers.proof import NoProofError, prove

        text = json.dumps(self._problem.to_dict() | {"edge_rewards": self._worth})
        try:
            proof = prove(text, {"budgets": self._problem.named(self._problem.budgets)}, path)
            proof.check()
        except (NoProofError, ProofError) as error:
            return replace(choice, why=replace(choice.why, text=f"{choice.why.text} No proof: {error}."))
        said = "no plan within the budgets is worth more" if choice else "nothing fits"
        return replace(choice, proof=proof, why=replace(choice.why, text=f"{choice.why.text} Proven: {said}."))

    # --- paths ------------------------------------------------------------------------------

    def best(self, k: int) -> list[tuple[int, ...]]:
        """The k best paths, by option, no two with the same steps and none with a circle that is for nothing."""
        if self._found.lists:
            return self._distinct(k)
        paths = self._ranking.best(k)
        if not any(map(self._circles_for_nothing, paths)):
            return paths
        asked = 0

        def unwanted(edges: Sequence[int]) -> bool:
            nonlocal asked
            asked += 1
            return asked > LOOK or self._circles_for_nothing(edges)

        return self._ranking.best(k, unwanted)

    def _distinct(self, k: int) -> list[tuple[int, ...]]:
        asked = k
        while True:
            paths = self._ranking.best(asked)
            kept: list[tuple[int, ...]] = []
            seen: list[list[Any]] = []
            for path in paths:
                steps = self.choice(path).plan or []
                if steps not in seen:
                    seen.append(steps)
                    kept.append(path)
            if len(kept) >= k or len(paths) < asked or asked >= LOOK:
                return kept[:k]
            asked *= 4

    def _circles_for_nothing(self, path: Sequence[int]) -> bool:
        """Whether a part that comes back to its beginning could be cut out without losing value."""
        start, again = self._found.start, self._found.again
        value = Fraction(0)
        # Of each node, the highest value that the path had there. Where a path has to have a step, nothing can
        # be cut out between the very beginning and an end at the start.
        best = {start: value}
        for option in self._options(path):
            value += option.gain
            if value <= best.get(option.head, value - 1):
                return True
            best[option.head] = value
            if option.head == start and again is not None:
                best[again] = value
        return False

    def _options(self, path: Sequence[int]) -> list[EdgeOption]:
        return [self._found.options[edge] for edge in path]

    def choice(self, path: Sequence[int]) -> Choice:
        """A path as an answer."""
        spent = self._spent(path)
        return Choice(
            plan=[option.step for option in self._options(path) if option.listed],
            spent={name: self._amount(name, count) for name, count in spent.items()},
            left={name: self._amount(name, self._count(name, cap) - spent[name]) for name, cap in self._caps.items()},
            value=float(sum(self._gains[edge] for edge in path)),
            reached=reached(self._floors, self._options(path)),
        )

    def _spent(self, path: Sequence[int]) -> dict[str, int]:
        taken = self._options(path)
        return {name: sum(self._count(name, option.cost.get(name)) for option in taken) for name in self._resources}

    def nothing(self) -> Choice:
        """The answer where no plan fits."""
        return Choice(None, {}, {name: plain(cap) for name, cap in self._caps.items()}, None)

    def frontier(
        self, criteria: Sequence[str], epsilon: float, *, proof: bool = False
    ) -> tuple[tuple[Choice, ...], Proof | None]:
        """The non-dominated plans, none where no criteria are given; and that there are no others."""
        names = criteria_of(criteria, epsilon, self._resources, valued=any(self._gains))
        if not names:
            return (), None
        costs = [option.cost for option in self._found.options]
        rows = {name: [self._count(name, cost.get(name)) for cost in costs] for name in names if name != VALUE}
        moves, most = self._found.moves, len(self._found.names)

        def enough(problem: PathProblem) -> int:
            return moves if moves is not None else self._enough(problem) if VALUE in names else max(1, most - 1)

        problem = unlimited(self._plain, rows, enough)
        paths = frontier_paths(problem, names, epsilon)
        shown = proven_frontier(valued(problem, names), paths) if proof and not epsilon else None
        return tuple(self.choice(path.edges) for path in paths), shown

    def _more(self, now: Choice) -> dict[str, More]:
        """What more of each budget alone would buy."""

        def choose(name: str, cap: Decimal) -> Choice:
            search = PlanSearch(self._free, {**self._caps, name: cap}, {}, self._rules)
            return next(map(search.choice, search.best(1)), search.nothing())

        return more_of_each(self._without_limit(), self._amount, choose, now)

    def _without_limit(self) -> PathProblem:
        return replace(self._plain, horizon=None) if self._found.enough else self._plain

    # --- reasons ----------------------------------------------------------------------------

    def why(self, path: Sequence[int], chosen: Choice) -> Why:
        """What stood between the chosen plan and the best one without budgets."""
        if not self._caps:
            return Why("Nothing is capped.")
        if not any(option.gain for option in self._found.options):
            return Why("All plans are worth the same; of those that fit, this one takes the least of the budgets.")
        free = replace(self._problem, budgets=[], costs=[], resources=[])
        try:
            if self._found.moves is None:
                free = replace(free, horizon=solvers.enough_moves(free))
        except solvers.EndlessError:
            endless = "Without budgets there is no best plan: one could go round a circle that earns for ever."
            return Why(endless, look=partial(self._more, chosen))
        (best,) = Ranking(free, self._worth).best(1)
        value = sum((option.gain for option in self._options(best)), Fraction(0))
        if value <= sum((option.gain for option in self._options(path)), Fraction(0)):
            return Why("No budget stood in the way: without them no plan is worth more.")
        spent = self._spent(best)
        short = tuple(name for name, cap in self._caps.items() if spent[name] > self._count(name, cap))
        takes = " and ".join(
            f"{self._written(name, spent[name])} ({self._written(name, self._count(name, self._caps[name]))} given)"
            for name in short
        )
        plan = [option.step for option in self._options(best) if option.listed]
        better, worse = told_apart(float(value), chosen.value or 0.0)
        return Why(
            f"{' and '.join(short)} stood in the way of {plan!r}, worth {better} instead of {worse}: it takes {takes}.",
            short,
            look=partial(self._more, chosen),
            known=plan,
        )

    def _with_rules(self, why: Why, chosen: Choice) -> Why:
        """The reason, and which rules have excluded a better plan."""
        try:
            free = PlanSearch(self._free, self._caps, {})
        except GraphError:  # without the rules there is no best plan
            return why
        paths = free.best(1)
        if not paths:
            return why
        best, names = free.choice(paths[0]), broken(self._rules, free._options(paths[0]))
        if chosen.value is not None and (best.value or 0.0) <= chosen.value:
            return why
        worth = (
            f"the better plan {best.plan!r}, worth {best.value:.12g}" if chosen else f"{best.plan!r}, which would fit"
        )
        several = "s" if len(names) > 1 else ""
        return replace(why, text=f"{why.text} The rule{several} {' and '.join(map(str, names))} excluded {worth}.")

    def why_not(self) -> Why:
        """Which budgets bind, and the least that would do; or which rules no plan keeps."""
        if self._rules and (text := contradiction(self._free, self._rules)):
            return Why(f"No plan fits. {text}")
        explanation = solvers.explain(self._without_limit())
        if explanation.status is not Status.INFEASIBLE:
            raise TapeError(f"the solver found no plan, and its explanation is {explanation.status}: {explanation}")

        def amount(name: str, count: float) -> str:
            return self._written(name, int(count))

        text = explanation.text(
            amount, lambda node: self._found.names[node], lambda edge: self._found.describe(self._found.options[edge])
        )
        least = {
            need.limit: None if need.least is None else self._amount(need.limit, need.least)
            for need in explanation.budgets
        }
        together = {name: self._amount(name, count) for name, count in explanation.together.items()}
        short = tuple(name for name, amount in least.items() if amount is not None) or tuple(together)
        look = partial(self._more, self.nothing())
        return Why(f"No plan fits. {text}", short, least, together if len(together) > 1 else {}, look)
