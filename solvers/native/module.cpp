// The Python door: reads a problem's own tuples, solves without the GIL, answers with plain numbers.
#include "python.hpp"

#include <new>

#include "proof.hpp"
#include "select.hpp"

namespace {

using namespace tape;

constexpr int MOST_STATIC_RESOURCES = 60;

struct Arguments {
    PyObject *edges, *rewards, *costs, *budgets, *terminals, *weights, *rest, *chances;
    int start, moves;
    double scale, time_limit, cap;
    Py_ssize_t wanted;
};

PathProblem read(const Arguments &given, Clock &clock) {
    PathProblem problem;
    problem.nodes = int(size(given.rewards));
    problem.resources = int(size(given.budgets));
    problem.start = given.start;
    problem.horizon = given.moves;
    problem.scale = given.scale;
    problem.factor = problem.horizon + 1;
    require(given.wanted > 0 && problem.horizon > 0 && problem.horizon < INT32_MAX - 2, "expected at least one path and one step");
    require(problem.start >= 0 && problem.start < problem.nodes, "the start is out of range");
    require(problem.resources <= MOST_RESOURCES, "too many resources");
    const Py_ssize_t edges = size(given.edges);
    for (Py_ssize_t e = 0; e < edges; ++e) {
        clock.tick(4 + 4 * std::size_t(problem.resources));
        PyObject *ends = item(given.edges, e), *row = item(given.costs, e);
        problem.tails.push_back(index(item(ends, 0), problem.nodes));
        problem.heads.push_back(index(item(ends, 1), problem.nodes));
        for (int k = 0; k < problem.resources; ++k) problem.costs.push_back(amount(item(row, k), BEYOND));
    }
    for (Py_ssize_t v = 0; v < problem.nodes; ++v) problem.rewards.push_back(real(item(given.rewards, v)));
    const Py_ssize_t steps = size(given.weights);
    require(steps == 0 || steps == problem.horizon, "expected a weight for each step, or none");
    for (Py_ssize_t l = 0; l < steps; ++l) problem.weights.push_back(real(item(given.weights, l)));
    for (int k = 0; k < problem.resources; ++k)
        problem.budgets.push_back(amount(item(given.budgets, k), LARGEST_BUDGET));
    double largest = 0, weight = 0;
    for (const double one : problem.rewards) largest = std::max(largest, std::abs(one));
    for (const double one : problem.weights) weight += std::abs(one);
    if (steps == 0) weight = problem.horizon;
    Score furthest = 0;
    const Py_ssize_t rests = size(given.rest);
    require(rests == 0 || rests == problem.nodes, "expected a rest for each node, or none");
    for (Py_ssize_t v = 0; v < rests; ++v) {
        problem.rest.push_back(integer(item(given.rest, v)));
        furthest = std::max(furthest, std::abs(problem.rest.back()));
    }
    require((weight * largest * std::abs(problem.scale) + double(furthest)) * double(problem.factor) <=
                2.0 * double(LARGEST_SCORE),
            "rewards are out of scale");
    problem.terminal.assign(problem.nodes, 0);
    for (Py_ssize_t i = 0; i < size(given.terminals); ++i)
        problem.terminal[std::size_t(index(item(given.terminals, i), problem.nodes))] = 1;
    for (Py_ssize_t i = 0; i < size(given.chances); ++i) {
        PyObject *row = item(given.chances, i);
        problem.chances.push_back({index(item(row, 0), problem.resources), index(item(row, 1), problem.resources),
                                   amount(item(row, 2), LARGEST_AT_RISK), amount(item(row, 3), LARGEST_AT_RISK)});
    }
    return problem;
}

// The paths of an answer, as tuples of edges.
PyObject *paths_of(const Answer &answer) {
    PyObject *paths = PyList_New(0);
    if (!paths) throw PythonError{};
    for (const Path &path : answer.paths) {
        PyObject *edges = PyTuple_New(Py_ssize_t(path.edges.size()));
        if (!edges) throw PythonError{};
        for (std::size_t i = 0; i < path.edges.size(); ++i)
            PyTuple_SetItem(edges, Py_ssize_t(i), PyLong_FromLong(path.edges[i]));
        if (PyList_Append(paths, edges) < 0) throw PythonError{};
        Py_DECREF(edges);
    }
    return paths;
}

// The most units that a path can earn that costs at least so much.
long long units(const Network &network, Cost cost) {
    const Score sum = network.horizon - cost;
    return sum >= 0 ? sum / network.factor : -((-sum + network.factor - 1) / network.factor);
}

PyObject *answered(const Answer &answer, bool bounded, long long bound, double seconds) {
    PyObject *known = bounded ? PyLong_FromLongLong(bound) : Py_None;
    if (!bounded) Py_INCREF(Py_None);
    return Py_BuildValue("(iNNOndnd)", int(answer.ending), paths_of(answer), known, answer.ordered ? Py_True : Py_False,
                         Py_ssize_t(answer.labels), seconds, Py_ssize_t(answer.arcs), answer.bytes);
}

// Whether Ctrl-C was pressed; then the Python error is set. Called without the GIL.
bool interrupted() {
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool pressed = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return pressed;
}

PyObject *solve_problem(PyObject *, PyObject *args) {
    Arguments given{};
    if (!PyArg_ParseTuple(args, "O!O!O!O!iO!iO!O!dO!ndd", &PyTuple_Type, &given.edges, &PyTuple_Type, &given.rewards,
                          &PyTuple_Type, &given.costs, &PyTuple_Type, &given.budgets, &given.start, &PyTuple_Type,
                          &given.terminals, &given.moves, &PyTuple_Type, &given.weights, &PyTuple_Type, &given.rest,
                          &given.scale, &PyTuple_Type, &given.chances, &given.wanted, &given.time_limit, &given.cap))
        return nullptr;
    try {
        Clock clock(given.time_limit, interrupted, given.cap);
        PathProblem problem;
        Network network;
        Answer answer;
        enum { Fine, Stopped, NoMemory } how = Fine;
        try {
            problem = read(given, clock);
        } catch (const Late &) {
            return answered(answer, false, 0, clock.seconds());
        }
        Py_BEGIN_ALLOW_THREADS;
        try {
            network = build_network(problem, clock);
            answer = Select(network, std::size_t(given.wanted), clock).run();
        } catch (const Interrupted &) {
            how = Stopped;
        } catch (const Late &) {  // before the search began
            answer = Answer{};
        } catch (const TooLarge &large) {
            answer = Answer{};
            answer.ending = Ending::TooLarge;
            answer.bytes = large.bytes;
        } catch (const std::bad_alloc &) {
            how = NoMemory;
        }
        Py_END_ALLOW_THREADS;
        if (how == Stopped) return nullptr;
        if (how == NoMemory) return PyErr_NoMemory();
        const bool bounded = network.factor && answer.bound > -FAR / 2;
        return answered(answer, bounded, bounded ? units(network, answer.bound) : 0, clock.seconds());
    } catch (const PythonError &) {
        return nullptr;
    } catch (const Interrupted &) {  // while the problem was read
        return nullptr;
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
}

struct Asked {
    int nodes, source, target, simple, threads;
    PyObject *tails, *heads, *cost, *node_cost, *use, *node_use, *lower, *upper;
    Py_ssize_t wanted;
    double time_limit, cap;
};

// The graph of a problem and its moves, without what moves use: arcs by tail, nodes along the arcs where that can be.
void read_graph(const Asked &asked, int m, Problem &problem) {
    const int n = asked.nodes;
    const Array<std::int32_t> tails(asked.tails, std::size_t(m)), heads(asked.heads, std::size_t(m));
    const Array<std::int64_t> cost(asked.cost, std::size_t(m)), at_node(asked.node_cost, std::size_t(n));
    Indices begin(std::size_t(n) + 1, 0);
    for (int a = 0; a < m; ++a) {
        require(tails(a) >= 0 && tails(a) < n && heads(a) >= 0 && heads(a) < n, "an end of an arc is out of range");
        ++begin[tails(a) + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    Indices by_tail(m), to(m), next(begin.begin(), begin.end() - 1);
    for (int a = 0; a < m; ++a) {
        to[next[tails(a)]] = heads(a);
        by_tail[next[tails(a)]++] = a;
    }
    Graph &graph = problem.graph;
    Moves &moves = problem.moves;
    const Indices place = graph.arrange(n, begin, to);
    graph.source = place[asked.source];
    graph.arrive.assign(n, 0);
    graph.finish.assign(n, FAR);
    graph.finish[place[asked.target]] = 0;
    for (auto *one : {&graph.head, &graph.move, &moves.edge}) one->resize(m);
    moves.cost.resize(m);
    graph.out.push_back(0);
    int at = 0;
    for (const int v : graph.name) {
        for (int i = begin[v]; i < begin[v + 1]; ++i, ++at) {
            graph.head[at] = place[to[i]];
            graph.move[at] = at;
            moves.edge[at] = by_tail[i];
            moves.cost[at] = cost(by_tail[i]) + at_node(to[i]);
        }
        graph.out.push_back(at);
    }
    graph.index();
}

// What moves use of the resources that limit something. An amount above an upper limit is cut to that limit plus one, and
// where there is only a lower limit to that: no sum of amounts leaves their integers, and none is compared otherwise.
void read_use(const Asked &asked, int m, Problem &problem) {
    const std::size_t all = std::size_t(size(asked.upper));
    const Array<std::int32_t> heads(asked.heads, std::size_t(m));
    const Array<std::int64_t> use(asked.use, std::size_t(m), all), at_node(asked.node_use, std::size_t(asked.nodes), all);
    const Amounts none(all, 0);
    const auto own = [&](std::size_t a) { return use.nothing() ? none.data() : use.row(a); };
    const auto visit = [&](std::size_t a) { return at_node.nothing() ? none.data() : at_node.row(std::size_t(heads(a))); };
    std::vector<std::size_t> kept;
    for (std::size_t k = 0; k < all; ++k) {
        PyObject *limit = item(asked.upper, Py_ssize_t(k));
        const Amount upper = limit == Py_None ? NO_LIMIT : integer(limit);
        const Amount lower = std::max<Amount>(0, integer(item(asked.lower, Py_ssize_t(k))));
        require(lower <= upper, "a limit is out of range");
        Amount most = 0;
        for (std::size_t a = 0; a < std::size_t(m) && most <= 0; ++a) most = own(a)[k] + visit(a)[k];
        if (lower == 0 && (upper == NO_LIMIT || most == 0)) continue;
        kept.push_back(k);
        problem.lower.push_back(lower);
        problem.upper.push_back(upper);
    }
    const std::size_t K = kept.size();
    problem.moves.resources = int(K);
    problem.moves.use.resize(std::size_t(m) * K);
    Amounts most;
    for (std::size_t i = 0; i < K; ++i) most.push_back(problem.limits(int(i)) ? problem.upper[i] + 1 : problem.lower[i]);
    Amount *next = problem.moves.use.data(), least = 0;
    for (const std::int32_t edge : problem.moves.edge) {
        const Amount *const along = own(std::size_t(edge)), *const there = visit(std::size_t(edge));
        for (std::size_t i = 0; i < K; ++i) {
            const Amount one = along[kept[i]] + there[kept[i]];
            least = std::min(least, one);
            *next++ = std::min(one, most[i]);
        }
    }
    require(least >= 0, "an amount is out of range");
}

// Whether the integers of the search are wide enough, as far as that can be told beforehand.
bool fits(const Problem &problem) {
    constexpr Cost LARGEST_COSTS = Cost{1} << 55;  // of as many arcs as there are nodes
    const Cost most = LARGEST_COSTS / problem.graph.nodes;
    const auto narrow = [&](Cost cost) { return cost < most && cost > -most; };
    if (problem.moves.resources > MOST_STATIC_RESOURCES) return false;
    for (int k = 0; k < problem.moves.resources; ++k)
        if (std::max(problem.lower[k], problem.limits(k) ? problem.upper[k] : 0) >= LARGEST_BUDGET) return false;
    return std::all_of(problem.moves.cost.begin(), problem.moves.cost.end(), narrow);
}

Problem read(const Asked &asked, Clock &clock) {
    require(asked.nodes > 0, "a size is out of range");
    const auto is_node = [&](int v) { return v >= 0 && v < asked.nodes; };
    require(is_node(asked.source) && is_node(asked.target), "an end is out of range");
    require(asked.wanted > 0 && asked.threads > 0, "expected at least one path and one thread");
    const Py_ssize_t m = PyObject_Size(asked.tails);
    if (m < 0) throw PythonError{};
    require(m < INT32_MAX, "too many arcs");
    clock.require(double(m) * (96 + 32.0 * double(size(asked.upper))) + 128.0 * asked.nodes);
    Problem problem;
    problem.wanted = std::size_t(asked.wanted);
    problem.simple = asked.simple != 0;
    problem.threads = asked.threads;
    read_graph(asked, int(m), problem);
    read_use(asked, int(m), problem);
    return problem;
}

PyObject *shortest_path(PyObject *, PyObject *args) {
    Asked asked{};
    if (!PyArg_ParseTuple(args, "iOOOOOOO!O!iinpidd", &asked.nodes, &asked.tails, &asked.heads, &asked.cost, &asked.node_cost,
                          &asked.use, &asked.node_use, &PyTuple_Type, &asked.lower, &PyTuple_Type, &asked.upper,
                          &asked.source, &asked.target, &asked.wanted, &asked.simple, &asked.threads, &asked.time_limit,
                          &asked.cap))
        return nullptr;
    try {
        Clock clock(asked.time_limit, interrupted, asked.cap);
        Answer answer;
        Problem problem;
        enum { Fine, Stopped, NoMemory } how = Fine;
        try {
            problem = read(asked, clock);
        } catch (const TooLarge &large) {
            answer.ending = Ending::TooLarge;
            answer.bytes = large.bytes;
            return answered(answer, false, 0, clock.seconds());
        }
        if (!fits(problem)) {
            answer.ending = Ending::TooWide;
            return answered(answer, false, 0, clock.seconds());
        }
        Py_BEGIN_ALLOW_THREADS;
        try {
            answer = Solve(std::move(problem), clock).run();
        } catch (const Interrupted &) {
            how = Stopped;
        } catch (const std::bad_alloc &) {
            how = NoMemory;
        }
        Py_END_ALLOW_THREADS;
        if (how == Stopped) return nullptr;
        if (how == NoMemory) return PyErr_NoMemory();
        return answered(answer, std::abs(answer.bound) < LARGEST_SCORE * 2, answer.bound, clock.seconds());
    } catch (const PythonError &) {
        return nullptr;
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
}

PyObject *list_of(const std::vector<long long> &numbers) {
    PyObject *list = PyList_New(Py_ssize_t(numbers.size()));
    if (!list) throw PythonError{};
    for (std::size_t i = 0; i < numbers.size(); ++i) PyList_SetItem(list, Py_ssize_t(i), PyLong_FromLongLong(numbers[i]));
    return list;
}

// Amounts are below 2^58 in size, all values together below 2^100, which Python has checked.
PyObject *prove(PyObject *, PyObject *args) {
    PyObject *edges, *gains, *uses, *lower, *upper, *ends, *best;
    Claim claim{};
    Py_ssize_t most;
    double time_limit;
    if (!PyArg_ParseTuple(args, "iO!O!O!O!O!iO!Ond", &claim.nodes, &PyTuple_Type, &edges, &PyTuple_Type, &gains, &PyTuple_Type,
                          &uses, &PyTuple_Type, &lower, &PyTuple_Type, &upper, &claim.start, &PyTuple_Type, &ends, &best,
                          &most, &time_limit))
        return nullptr;
    try {
        claim.resources = int(size(upper));
        claim.most = std::size_t(most);
        claim.nothing_fits = best == Py_None;
        claim.best = claim.nothing_fits ? 0 : wide(best);
        require(claim.start >= 0 && claim.start < claim.nodes && size(lower) == claim.resources, "the start is out of range");
        for (int k = 0; k < claim.resources; ++k) {
            claim.lower.push_back(integer(item(lower, k)));
            claim.upper.push_back(integer(item(upper, k)));
        }
        for (Py_ssize_t e = 0; e < size(edges); ++e) {
            PyObject *pair = item(edges, e), *row = item(uses, e);
            claim.tails.push_back(index(item(pair, 0), claim.nodes));
            claim.heads.push_back(index(item(pair, 1), claim.nodes));
            claim.gains.push_back(wide(item(gains, e)));
            for (int k = 0; k < claim.resources; ++k) claim.uses.push_back(amount(item(row, k), BEYOND));
        }
        claim.ends.assign(std::size_t(claim.nodes), NOWHERE);
        for (Py_ssize_t i = 0; i < size(ends); ++i)
            claim.ends[std::size_t(index(item(item(ends, i), 0), claim.nodes))] = wide(item(item(ends, i), 1));
        Clock clock(time_limit, interrupted, 0);
        Prover prover(claim, clock);
        int how = 0;
        Py_BEGIN_ALLOW_THREADS;
        try {
            prover.run();
        } catch (const Better &) {
            how = 1;
        } catch (const TooLong &) {
            how = 2;
        } catch (const Late &) {
            how = 3;
        } catch (const Interrupted &) {
            how = 4;
        } catch (const std::bad_alloc &) {
            how = 2;
        }
        Py_END_ALLOW_THREADS;
        if (how == 4) return nullptr;
        PyObject *rows = PyList_New(0);
        if (!rows) throw PythonError{};
        for (const Amounts &row : prover.rows) {
            PyObject *numbers = list_of(std::vector<long long>(row.begin(), row.end()));
            if (PyList_Append(rows, numbers) < 0) throw PythonError{};
            Py_DECREF(numbers);
        }
        return Py_BuildValue("(iNN)", how, rows, list_of(prover.tree));
    } catch (const PythonError &) {
        return nullptr;
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
}

PyMethodDef methods[] = {
    {"prove", prove, METH_VARARGS,
     "prove(nodes, edges, gains, uses, lower, upper, start, ends, best, most, time_limit)"},
    {"solve", solve_problem, METH_VARARGS,
     "solve(edges, rewards, costs, budgets, start, terminals, moves, weights, rest, scale, chances, wanted, time_limit, "
     "cap)"},
    {"shortest_path", shortest_path, METH_VARARGS,
     "shortest_path(nodes, tails, heads, cost, node_cost, use, node_use, lower, upper, source, target, wanted, simple, threads, "
     "time_limit, cap)"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Compiled labelling.", -1, methods,
                          nullptr,               nullptr,   nullptr,              nullptr};

}  // namespace

// Changes with what `solve` takes and gives: Python does not use a build that does not match it.
constexpr long FORM = 7;

PyMODINIT_FUNC PyInit__native() {
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntConstant(module, "FORM", FORM) < 0) return nullptr;
    return module;
}
