// The Python door: reads a problem's own tuples, solves without the GIL, answers with plain numbers.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <new>

#include "engine.hpp"
#include "rcsp.hpp"

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

struct Arguments {
    PyObject *edges, *rewards, *costs, *budgets, *terminals, *weights, *rest, *chances;
    int start, moves;
    double scale, time_limit, cap;
    Py_ssize_t wanted;
    PyObject *memory;
};

constexpr const char *MEMORY = "tape.memory";

Memory *memory_of(PyObject *capsule) {
    if (!capsule || capsule == Py_None) return nullptr;
    auto *memory = static_cast<Memory *>(PyCapsule_GetPointer(capsule, MEMORY));
    if (!memory) throw PythonError{};
    return memory;
}

PyObject *new_memory(PyObject *, PyObject *) {
    auto *memory = new (std::nothrow) Memory;
    if (!memory) return PyErr_NoMemory();
    return PyCapsule_New(memory, MEMORY, [](PyObject *capsule) {
        delete static_cast<Memory *>(PyCapsule_GetPointer(capsule, MEMORY));
    });
}

Problem read(const Arguments &given, Clock &clock) {
    Problem problem;
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

// The most units that a path of at most this score can earn.
long long units(const Network &network, Score score) {
    const Score sum = score + network.horizon;
    return sum >= 0 ? sum / network.factor : -((-sum + network.factor - 1) / network.factor);
}

PyObject *answered(const Network &network, const Answer &answer, double seconds) {
    PyObject *paths = PyList_New(0);
    if (!paths) throw PythonError{};
    for (const Path &path : answer.paths) {
        PyObject *edges = PyTuple_New(Py_ssize_t(path.slots.size()));
        if (!edges) throw PythonError{};
        for (std::size_t i = 0; i < path.slots.size(); ++i)
            PyTuple_SetItem(edges, Py_ssize_t(i), PyLong_FromLong(network.edge_ids[path.slots[i]]));
        if (PyList_Append(paths, edges) < 0) throw PythonError{};
        Py_DECREF(edges);
    }
    PyObject *bound = answer.bound < LARGEST_SCORE * 2 ? PyLong_FromLongLong(units(network, answer.bound)) : Py_None;
    if (bound == Py_None) Py_INCREF(Py_None);
    return Py_BuildValue("(iNNOdnnid)", int(answer.ending), paths, bound, answer.ordered ? Py_True : Py_False, seconds,
                         Py_ssize_t(answer.arcs), Py_ssize_t(answer.labels), answer.rounds, answer.bytes);
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
    if (!PyArg_ParseTuple(args, "O!O!O!O!iO!iO!O!dO!ndd|O", &PyTuple_Type, &given.edges, &PyTuple_Type, &given.rewards,
                          &PyTuple_Type, &given.costs, &PyTuple_Type, &given.budgets, &given.start, &PyTuple_Type,
                          &given.terminals, &given.moves, &PyTuple_Type, &given.weights, &PyTuple_Type, &given.rest,
                          &given.scale, &PyTuple_Type, &given.chances, &given.wanted, &given.time_limit, &given.cap,
                          &given.memory))
        return nullptr;
    try {
        Clock clock(given.time_limit, interrupted, given.cap);
        Problem problem;
        Network network;
        Answer answer;
        try {
            problem = read(given, clock);
        } catch (const Late &) {
            answer.ending = Ending::OutOfTime;
            return answered(network, answer, clock.seconds());
        }
        Memory *const memory = memory_of(given.memory);
        if (memory && memory->busy) {
            PyErr_SetString(PyExc_RuntimeError, "this memory is used by another solve: one thread at a time");
            return nullptr;
        }
        if (memory) memory->busy = true;
        enum { Fine, Stopped, NoMemory } how = Fine;
        Py_BEGIN_ALLOW_THREADS;
        try {
            if (memory) {
                answer = solve_next(problem, network, *memory, std::size_t(given.wanted), clock);
            } else {
                network = build_network(problem, clock);
                answer = solve(network, std::size_t(given.wanted), clock, nullptr);
            }
        } catch (const Interrupted &) {
            how = Stopped;
        } catch (const Late &) {  // before the search began
            answer = Answer{};
            answer.ending = Ending::OutOfTime;
        } catch (const TooLarge &large) {
            answer = Answer{};
            answer.ending = Ending::TooLarge;
            answer.bytes = large.bytes;
        } catch (const std::bad_alloc &) {
            how = NoMemory;
        }
        Py_END_ALLOW_THREADS;
        if (memory) memory->busy = false;
        if (how == Stopped) return nullptr;
        if (how == NoMemory) return PyErr_NoMemory();
        return answered(network, answer, clock.seconds());
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

rcsp::Problem read(const Asked &asked, Clock &clock) {
    const int n = asked.nodes, m = asked.arcs, K = asked.resources;
    require(n > 0 && m >= 0 && K >= 0 && K <= rcsp::MOST_STATIC_RESOURCES, "a size is out of range");
    require(asked.source >= 0 && asked.source < n && asked.target >= 0 && asked.target < n, "an end is out of range");
    require(asked.wanted > 0 && asked.threads > 0, "expected at least one path and one thread");
    clock.require(double(m) * (96 + 32.0 * K) + 128.0 * n);
    const Array<std::int32_t> tails(asked.tails, std::size_t(m)), heads(asked.heads, std::size_t(m));
    const Array<std::int64_t> cost(asked.cost, std::size_t(m)), use(asked.use, std::size_t(m) * K);
    const Array<std::int64_t> lower(asked.lower, std::size_t(K)), upper(asked.upper, std::size_t(K));
    rcsp::Problem problem;
    rcsp::Graph &graph = problem.graph;
    graph.nodes = n;
    graph.resources = K;
    graph.source = asked.source;
    graph.target = asked.target;
    problem.wanted = std::size_t(asked.wanted);
    problem.simple = asked.simple != 0;
    problem.threads = asked.threads;
    for (int k = 0; k < K; ++k) {
        require(lower[k] >= 0 && lower[k] <= upper[k] && upper[k] <= rcsp::NO_LIMIT, "a limit is out of range");
        problem.lower.push_back(lower[k]);
        problem.upper.push_back(upper[k]);
    }
    const Score most = rcsp::LARGEST_WEIGHT / 2 / n;
    Indices begin(std::size_t(n) + 1, 0);
    for (int a = 0; a < m; ++a) {
        require(tails[a] >= 0 && tails[a] < n && heads[a] >= 0 && heads[a] < n, "an end of an arc is out of range");
        require(cost[a] <= most && cost[a] >= -most, "a cost is out of scale");
        ++begin[tails[a] + 1];
    }
    for (int v = 0; v < n; ++v) {
        graph.name.push_back(v);
        begin[v + 1] += begin[v];
    }
    graph.id.resize(m);
    for (int a = 0; a < m; ++a) graph.id[begin[tails[a]]++] = a;
    graph.use.resize(std::size_t(m) * K);
    for (int a = 0; a < m; ++a) {
        const int id = graph.id[a];
        graph.tail.push_back(tails[id]);
        graph.head.push_back(heads[id]);
        graph.cost.push_back(cost[id]);
        for (int k = 0; k < K; ++k) {
            const Amount amount = use[std::size_t(id) * K + k];
            require(amount >= 0 && amount <= rcsp::NO_LIMIT, "an amount is out of range");
            graph.use[std::size_t(k) * m + a] = amount;
        }
    }
    graph.index();
    return problem;
}

PyObject *stated(const rcsp::Answer &answer, double seconds) {
    PyObject *paths = PyList_New(0);
    if (!paths) throw PythonError{};
    for (const rcsp::Path &path : answer.paths) {
        PyObject *edges = PyTuple_New(Py_ssize_t(path.ids.size()));
        if (!edges) throw PythonError{};
        for (std::size_t i = 0; i < path.ids.size(); ++i)
            PyTuple_SetItem(edges, Py_ssize_t(i), PyLong_FromLong(path.ids[i]));
        if (PyList_Append(paths, edges) < 0) throw PythonError{};
        Py_DECREF(edges);
    }
    PyObject *bound = std::abs(answer.bound) < LARGEST_SCORE * 2 ? PyLong_FromLongLong(answer.bound) : Py_None;
    if (bound == Py_None) Py_INCREF(Py_None);
    return Py_BuildValue("(iNNndnd)", int(answer.ending), paths, bound, Py_ssize_t(answer.labels), seconds,
                         Py_ssize_t(answer.arcs), answer.bytes);
}

PyObject *shortest_path(PyObject *, PyObject *args) {
    Asked asked{};
    if (!PyArg_ParseTuple(args, "iiiOOOOOOiinpidd", &asked.nodes, &asked.arcs, &asked.resources, &asked.tails, &asked.heads,
                          &asked.cost, &asked.use, &asked.lower, &asked.upper, &asked.source, &asked.target, &asked.wanted,
                          &asked.simple, &asked.threads, &asked.time_limit, &asked.cap))
        return nullptr;
    try {
        Clock clock(asked.time_limit, interrupted, asked.cap);
        rcsp::Answer answer;
        rcsp::Problem problem;
        try {
            problem = read(asked, clock);
        } catch (const TooLarge &large) {
            answer.ending = rcsp::Ending::TooLarge;
            answer.bytes = large.bytes;
            return stated(answer, clock.seconds());
        }
        enum { Fine, Stopped, NoMemory } how = Fine;
        Py_BEGIN_ALLOW_THREADS;
        try {
            answer = rcsp::Solve(std::move(problem), clock).run();
        } catch (const Interrupted &) {
            how = Stopped;
        } catch (const std::bad_alloc &) {
            how = NoMemory;
        }
        Py_END_ALLOW_THREADS;
        if (how == Stopped) return nullptr;
        if (how == NoMemory) return PyErr_NoMemory();
        return stated(answer, clock.seconds());
    } catch (const PythonError &) {
        return nullptr;
    } catch (const std::bad_alloc &) {
        return PyErr_NoMemory();
    }
}

PyMethodDef methods[] = {
    {"solve", solve_problem, METH_VARARGS,
     "solve(edges, rewards, costs, budgets, start, terminals, moves, weights, rest, scale, chances, wanted, time_limit, "
     "cap, memory=None)"},
    {"shortest_path", shortest_path, METH_VARARGS,
     "shortest_path(nodes, arcs, resources, tails, heads, cost, use, lower, upper, source, target, wanted, simple, threads, "
     "time_limit, cap)"},
    {"memory", new_memory, METH_NOARGS, "memory() -> what a sequence of related problems shares; not thread-safe"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Compiled labelling.", -1, methods,
                          nullptr,               nullptr,   nullptr,              nullptr};

}  // namespace

// Changes with what `solve` takes and gives: Python does not use a build that does not match it.
constexpr long FORM = 3;

PyMODINIT_FUNC PyInit__native() {
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntConstant(module, "FORM", FORM) < 0) return nullptr;
    return module;
}
