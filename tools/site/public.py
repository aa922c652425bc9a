"""The public names, by the page of the reference that has them. A name that is not here is private.

Each has a docstring with an example that runs (``tests/repo/test_public.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Page:
    """A page of the reference.

    Attributes:
        title: Its heading.
        about: What its names are for, in a sentence.
        names: By module.
    """

    title: str
    about: str
    names: Mapping[str, Sequence[str]]


def _of(module: str, names: str) -> dict[str, list[str]]:
    return {module: names.split()}


PUBLIC: Mapping[str, Page] = {
    "agents": Page(
        "Agents",
        "Agents take an environment and a budget, and give back an `EpisodeResult`.",
        _of(
            "tape",
            "TapeAgent TapeAllStepAgent TapeConfig Ablations Planned EpisodeResult ReactAgent ReflexionAgent"
            " PlanAndActAgent PlanAndActReplanAgent OpenLoopAgent BestOfNReactAgent BestOfNPlanAndActAgent"
            " Approval ApprovalRequest FallbackModel",
        ),
    ),
    "methods": Page(
        "Methods: AEC, SDP, CGDP",
        "Settings and agents of the three methods that use the plan graph in their own way.",
        _of(
            "tape",
            "AecSettings SdpAgent SdpSettings CgdpAgent CgdpSettings IrcotAgent IterRetgenAgent MemgptAgent"
            " ReactSearchAgent",
        ),
    ),
    "budgets": Page(
        "Budgets",
        "Caps, amounts and the account that reserves before anything is spent.",
        _of("tape", "Budget Ledger Resources BudgetExceededError")
        | _of("tape.budget", "Reservation Earmark ResourceKind declare kind_of kinds in_units amount_of"),
    ),
    "ledger": Page(
        "The shared ledger",
        "Caps that programs and hosts share.",
        _of(
            "tape.budget",
            "open_store paying LedgerStore StorePayer Cap Period Rule HoldRequest Held Refused Ended Balance Paused"
            " Warned LedgerError PausedError UnknownHoldError UnreachableLedgerError",
        ),
    ),
    "guard": Page(
        "Guard and fan-out",
        "A budget for calls that a program of your own makes, and the price of sub-agents before they start.",
        _of("tape", "Guard plan_fanout FanOut"),
    ),
    "frameworks": Page(
        "Adapters for frameworks",
        "One object for each framework: it reserves before the framework's call is sent.",
        _of("tape.adapters.langchain", "GuardMiddleware GuardCallback plan_node")
        | _of("tape.adapters.pydantic_ai", "GuardCapability BoundedModel")
        | _of("tape.adapters.openai_agents", "BoundedModel bounded_tools")
        | _of("tape.adapters.smolagents", "BoundedModel bounded_tools")
        | _of("tape.adapters.dspy", "BoundedLM bounded_tools")
        | _of("tape.adapters.dbos", "DurableAgent")
        | _of("tape.adapters.inspect_agent", "bounded_agent bounded_model bounded_tools")
        | _of("tape.adapters.otel", "Spans provider"),
    ),
    "select": Page(
        "Select",
        "The best of some plans within a budget, without a model.",
        _of("tape", "select select_in schedule Choice")
        | _of("tape.choice", "More Scheduled Why Requires Excludes Before AtMost AtLeast"),
    ),
    "tools": Page(
        "Tools",
        "Functions with a price, and environments made of them.",
        _of("tape", "tool Tool ToolEnvironment mcp_tools")
        | _of(
            "tape.tools",
            "Toolbox ToolContext Happened FreeText Answer Fixed PerUnit Uniform Likely learned ToolError"
            " ToolFailedError ToolWarning",
        )
        | _of("tape.tools.copies", "CopyableState SQLite Folder PythonObject CopyError")
        | _of(
            "envs.tool_chains.typed",
            "TypedEnvironment Change Chain Chains PlanningError cheapest_chains load_tools",
        ),
    ),
    "environments": Page(
        "Environments",
        "What an environment, its domain and its prompt format must say, and worlds that are declared.",
        _of("tape", "World")
        | _of("tape.world", "Context WorldEnvironment WorldError InvalidActionError")
        | _of("tape.world.scripted", "ScriptedPlayer")
        | _of(
            "tape.protocols",
            "Environment Domain PromptFormat EnvironmentPlugin Task Action State Observation Prediction Score Plan"
            " Acted FailedCall OfferedPath AnswersAtLimit Proposer WorldModel Scorer Actor PlannedActor prompt_version",
        ),
    ),
    "models": Page(
        "Models",
        "Models by name, and what a model of your own must do.",
        _of("tape", "open_model")
        | _of("tape.lm.base", "LanguageModel Request Completion Usage Message Forced OneOf Regex JsonSchema Grammar")
        | _of("tape.lm.price", "TokenPrice")
        | _of("tape.lm.scripted", "ScriptedLM"),
    ),
    "graphs": Page(
        "Plan graphs and traces",
        "What an episode leaves behind.",
        _of("tape", "PlanGraph TraceWriter read_trace"),
    ),
    "runs": Page(
        "Runs",
        "Many episodes in one folder that can be resumed.",
        _of("tape.runner.runner", "Runner")
        | _of("tape.runner.spec", "RunSpec")
        | _of("tape.runner.configurations", "Configuration")
        | _of("tape.runner.directory", "RunDirectory")
        | _of("tape.runner.workers", "open_pool"),
    ),
    "solvers": Page(
        "Solvers",
        "Path selection under budgets. This package needs NumPy alone.",
        _of(
            "solvers",
            "PathProblem PathSolution Status solve explain k_best check next_budget frontier Frontier Explanation Cause"
            " Need KBest Risk Joint Assumption Solver SolverInfo available get ShortestPath ShortestPaths RcspProblem"
            " shortest_path shortest_paths read_rcsp Schedule ScheduleProblem Variant schedule check_schedule"
            " critical_steps objective_of consumption_of enough_moves SolverError ProblemError BackendError"
            " EndlessError FileFormatError RiskUnsupportedError SolverUnavailableError UnknownSolverError",
        )
        | _of("solvers.proof", "prove NoProofError")
        | _of("solvers.proof_file", "Proof"),
    ),
    "testing": Page(
        "Testing your parts",
        "Suites that a new environment, agent, solver, tool, model, store or state inherits, and servers for tests.",
        _of(
            "tape.testing",
            "EnvironmentConformance AgentConformance SearchConformance StateConformance ToolConformance"
            " ModelConformance LedgerStoreConformance Line LineModel",
        )
        | _of("tape.testing.endpoint", "ModelEndpoint")
        | _of("solvers.testing", "SolverConformance"),
    ),
    "errors": Page(
        "Exceptions",
        "All are a `TapeError`; which is raised when, and what to do, is on [errors and end states](../errors.md).",
        _of("tape", "TapeError ConfigError")
        | _of(
            "tape.errors",
            "DataError UnknownNameError PluginError MissingExtraError UnknownCostError ModelError ConstraintError"
            " InvalidOutputError ApprovalError EnvironmentFaultError GraphError TraceError ResumeError"
            " UnfinishedCallError RunDirectoryError EndpointWarning",
        ),
    ),
}
