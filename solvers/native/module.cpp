// The Python door: reads a problem's own tuples, solves without the GIL, answers with plain numbers.
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <new>

#include "engine.hpp"

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
    require(given.wanted > 0 && problem.horizon > 0 && problem.horizon < INT32_MAX - 2, "expected at least one walk and one step");
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

// The most units that a walk of at most this score can earn.
long long units(const Network &network, Score score) {
    const Score sum = score + network.horizon;
    return sum >= 0 ? sum / network.factor : -((-sum + network.factor - 1) / network.factor);
}

PyObject *answered(const Network &network, const Answer &answer, double seconds) {
    PyObject *walks = PyList_New(0);
    if (!walks) throw PythonError{};
    for (const Walk &walk : answer.walks) {
        PyObject *edges = PyTuple_New(Py_ssize_t(walk.slots.size()));
        if (!edges) throw PythonError{};
        for (std::size_t i = 0; i < walk.slots.size(); ++i)
            PyTuple_SetItem(edges, Py_ssize_t(i), PyLong_FromLong(network.edge_ids[walk.slots[i]]));
        if (PyList_Append(walks, edges) < 0) throw PythonError{};
        Py_DECREF(edges);
    }
    PyObject *bound = answer.bound < LARGEST_SCORE * 2 ? PyLong_FromLongLong(units(network, answer.bound)) : Py_None;
    if (bound == Py_None) Py_INCREF(Py_None);
    return Py_BuildValue("(iNNOdnnid)", int(answer.ending), walks, bound, answer.ordered ? Py_True : Py_False, seconds,
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

PyMethodDef methods[] = {
    {"solve", solve_problem, METH_VARARGS,
     "solve(edges, rewards, costs, budgets, start, terminals, moves, weights, rest, scale, chances, wanted, time_limit, "
     "cap, memory=None)"},
    {"memory", new_memory, METH_NOARGS, "memory() -> what a sequence of related problems shares; not thread-safe"},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Compiled labelling.", -1, methods,
                          nullptr,               nullptr,   nullptr,              nullptr};

}  // namespace

// Changes with what `solve` takes and gives: Python does not use a build that does not match it.
constexpr long FORM = 2;

PyMODINIT_FUNC PyInit__native() {
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntConstant(module, "FORM", FORM) < 0) return nullptr;
    return module;
}
