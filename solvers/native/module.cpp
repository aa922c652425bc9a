// The Python door: reads a problem's own tuples, solves without the GIL, answers with plain numbers.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <new>

#include "select.hpp"

namespace {

using namespace tape;

struct PythonError {};

long long integer(PyObject *value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) return overflow > 0 ? BEYOND : -BEYOND;
    if (number == -1 && PyErr_Occurred()) throw PythonError{};
    return std::max<long long>(-BEYOND, std::min<long long>(BEYOND, number));
}

// What Python has checked already, so that a mistake there is an error and not a crash here.
void require(bool holds, const char *what) {
    if (holds) return;
    PyErr_SetString(PyExc_ValueError, what);
    throw PythonError{};
}

int index(PyObject *value, int count) {
    const long long number = integer(value);
    require(number >= 0 && number < count, "an index is out of range");
    return int(number);
}

Amount amount(PyObject *value, Amount most) {
    const Amount number = integer(value);
    require(number >= 0 && number <= most, "an amount is out of range");
    return number;
}

double real(PyObject *value) {
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) throw PythonError{};
    require(std::isfinite(number), "expected finite numbers");
    return number;
}

PyObject *item(PyObject *tuple, Py_ssize_t i) {
    PyObject *found = PyTuple_GetItem(tuple, i);
    if (!found) throw PythonError{};
    return found;
}

Py_ssize_t size(PyObject *tuple) {
    const Py_ssize_t count = PyTuple_Size(tuple);
    if (count < 0) throw PythonError{};
    return count;
}

constexpr int MOST_STATIC_RESOURCES = 60;

struct Arguments {
    PyObject *edges, *rewards, *costs, *budgets, *terminals, *weights, *rest, *chances, *known, *prices;
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

// Prices of a unit of each resource: in the objective, and in costs per unit of the network's resources.
Amounts in_costs(const Network &network, const std::vector<double> &prices) {
    Amounts costs;
    for (int k = 0; k < network.resources && !prices.empty(); ++k) {
        const double most = double(LARGEST_PAYMENT / network.resources) / double(network.budgets[k] + 1);
        const double price = prices[network.origin[k]] * network.scale * double(network.factor) * double(network.divisors[k]);
        costs.push_back(Amount(std::min(std::max(0.0, price), most)));
    }
    return costs;
}

std::vector<double> in_objective(const Network &network, const Amounts &costs, std::size_t resources) {
    std::vector<double> prices(resources, 0);
    for (std::size_t k = 0; k < costs.size(); ++k)
        prices[network.origin[k]] = double(costs[k]) / network.scale / double(network.factor) / double(network.divisors[k]);
    return prices;
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
    if (!PyArg_ParseTuple(args, "O!O!O!O!iO!iO!O!dO!nddO!O!", &PyTuple_Type, &given.edges, &PyTuple_Type, &given.rewards,
                          &PyTuple_Type, &given.costs, &PyTuple_Type, &given.budgets, &given.start, &PyTuple_Type,
                          &given.terminals, &given.moves, &PyTuple_Type, &given.weights, &PyTuple_Type, &given.rest,
                          &given.scale, &PyTuple_Type, &given.chances, &given.wanted, &given.time_limit, &given.cap,
                          &PyTuple_Type, &given.known, &PyTuple_Type, &given.prices))
        return nullptr;
    try {
        Clock clock(given.time_limit, interrupted, given.cap);
        PathProblem problem;
        Network network;
        Indices known;
        std::vector<double> prices;  // of a unit of each resource, in the objective
        Answer answer;
        enum { Fine, Stopped, NoMemory } how = Fine;
        try {
            problem = read(given, clock);
            for (Py_ssize_t i = 0; i < size(given.known); ++i) known.push_back(index(item(given.known, i), INT32_MAX));
            for (Py_ssize_t k = 0; k < size(given.prices); ++k) prices.push_back(real(item(given.prices, k)));
            require(prices.empty() || prices.size() == problem.budgets.size(), "expected a price for each resource, or none");
        } catch (const Late &) {
            return Py_BuildValue("(N())", answered(answer, false, 0, clock.seconds()));
        }
        Py_BEGIN_ALLOW_THREADS;
        try {
            network = build_network(problem, clock);
            answer = Select(network, std::size_t(given.wanted), known, in_costs(network, prices), clock).run();
            prices = in_objective(network, answer.prices, problem.budgets.size());
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
        PyObject *found = answered(answer, bounded, bounded ? units(network, answer.bound) : 0, clock.seconds());
        PyObject *each = PyTuple_New(Py_ssize_t(prices.size()));
        if (!each) throw PythonError{};
        for (std::size_t k = 0; k < prices.size(); ++k) PyTuple_SetItem(each, Py_ssize_t(k), PyFloat_FromDouble(prices[k]));
        return Py_BuildValue("(NN)", found, each);
    } catch (const PythonError &) {
        return nullptr;
    } catch (const Interrupted &) {  // while the problem was read
        return nullptr;
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
}

// The integers of an array that Python checked: `count` of them, of this width.
template <class Number> class Array {
  public:
    Array(PyObject *object, std::size_t count) {
        if (PyObject_GetBuffer(object, &view_, PyBUF_C_CONTIGUOUS) < 0) throw PythonError{};
        if (view_.len == Py_ssize_t(count * sizeof(Number))) return;
        PyBuffer_Release(&view_);
        require(false, "an array has another length or width than expected");
    }
    ~Array() { PyBuffer_Release(&view_); }
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;

    Number operator[](std::size_t i) const { return static_cast<const Number *>(view_.buf)[i]; }

  private:
    Py_buffer view_;
};

struct Asked {
    int nodes, arcs, resources, source, target, simple, threads;
    PyObject *tails, *heads, *cost, *use, *lower, *upper;
    Py_ssize_t wanted;
    double time_limit, cap;
};

Problem read(const Asked &asked, Clock &clock) {
    const int n = asked.nodes, m = asked.arcs, K = asked.resources;
    require(n > 0 && m >= 0 && K >= 0 && K <= MOST_STATIC_RESOURCES, "a size is out of range");
    require(asked.source >= 0 && asked.source < n && asked.target >= 0 && asked.target < n, "an end is out of range");
    require(asked.wanted > 0 && asked.threads > 0, "expected at least one path and one thread");
    clock.require(double(m) * (96 + 32.0 * K) + 128.0 * n);
    const Array<std::int32_t> tails(asked.tails, std::size_t(m)), heads(asked.heads, std::size_t(m));
    const Array<std::int64_t> cost(asked.cost, std::size_t(m)), use(asked.use, std::size_t(m) * K);
    const Array<std::int64_t> lower(asked.lower, std::size_t(K)), upper(asked.upper, std::size_t(K));
    Problem problem;
    problem.wanted = std::size_t(asked.wanted);
    problem.simple = asked.simple != 0;
    problem.threads = asked.threads;
    for (int k = 0; k < K; ++k) {
        require(lower[k] >= 0 && lower[k] <= upper[k] && upper[k] <= NO_LIMIT, "a limit is out of range");
        problem.lower.push_back(lower[k]);
        problem.upper.push_back(upper[k]);
    }
    const Cost most = LARGEST_WEIGHT / 2 / n;
    Indices begin(std::size_t(n) + 1, 0);
    for (int a = 0; a < m; ++a) {
        require(tails[a] >= 0 && tails[a] < n && heads[a] >= 0 && heads[a] < n, "an end of an arc is out of range");
        require(cost[a] <= most && cost[a] >= -most, "a cost is out of scale");
        ++begin[tails[a] + 1];
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    Indices by_tail(m), to(m), next(begin.begin(), begin.end() - 1);
    for (int a = 0; a < m; ++a) {
        to[next[tails[a]]] = heads[a];
        by_tail[next[tails[a]]++] = a;
    }
    Graph &graph = problem.graph;
    Moves &moves = problem.moves;
    graph.nodes = n;
    graph.name = along(n, begin, to);
    graph.sorted = int(graph.name.size()) == n;
    if (!graph.sorted) {
        graph.name.resize(n);
        std::iota(graph.name.begin(), graph.name.end(), 0);
    }
    Indices place(n);
    for (int v = 0; v < n; ++v) place[graph.name[v]] = v;
    graph.source = place[asked.source];
    graph.arrive.assign(n, 0);
    graph.finish.assign(n, FAR);
    graph.finish[place[asked.target]] = 0;
    moves.resources = K;
    moves.use.resize(std::size_t(m) * K);
    for (auto *one : {&graph.head, &graph.move, &moves.edge}) one->resize(m);
    moves.cost.resize(m);
    graph.out.push_back(0);
    int at = 0;
    for (const int v : graph.name) {
        for (int i = begin[v]; i < begin[v + 1]; ++i, ++at) {
            const int id = by_tail[i];
            graph.head[at] = place[to[i]];
            graph.move[at] = at;
            moves.edge[at] = id;
            moves.cost[at] = cost[id];
            for (int k = 0; k < K; ++k) {
                const Amount amount = moves.use[std::size_t(at) * K + k] = use[std::size_t(id) * K + k];
                require(amount >= 0 && amount <= NO_LIMIT, "an amount is out of range");
            }
        }
        graph.out.push_back(at);
    }
    graph.index();
    return problem;
}

PyObject *shortest_path(PyObject *, PyObject *args) {
    Asked asked{};
    if (!PyArg_ParseTuple(args, "iiiOOOOOOiinpidd", &asked.nodes, &asked.arcs, &asked.resources, &asked.tails, &asked.heads,
                          &asked.cost, &asked.use, &asked.lower, &asked.upper, &asked.source, &asked.target, &asked.wanted,
                          &asked.simple, &asked.threads, &asked.time_limit, &asked.cap))
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

PyMethodDef methods[] = {
    {"solve", solve_problem, METH_VARARGS,
     "solve(edges, rewards, costs, budgets, start, terminals, moves, weights, rest, scale, chances, wanted, time_limit, "
     "cap, known, prices)"},
    {"shortest_path", shortest_path, METH_VARARGS,
     "shortest_path(nodes, arcs, resources, tails, heads, cost, use, lower, upper, source, target, wanted, simple, threads, "
     "time_limit, cap)"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Compiled labelling.", -1, methods,
                          nullptr,               nullptr,   nullptr,              nullptr};

}  // namespace

// Changes with what `solve` takes and gives: Python does not use a build that does not match it.
constexpr long FORM = 4;

PyMODINIT_FUNC PyInit__native() {
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntConstant(module, "FORM", FORM) < 0) return nullptr;
    return module;
}
