// The Boost Graph Library's r_c_shortest_paths on one instance; see Boost in labellers.py.

#include <algorithm>
#include <chrono>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/r_c_shortest_paths.hpp>

namespace {

struct Vertex {
    int num;
};

struct Arc {
    int num;
    double cost;
    const double* use;
};

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Arc>;

int resources;
const double* lower;
const double* upper;

struct Spent {
    double cost = 0;
    std::vector<double> use = std::vector<double>(static_cast<std::size_t>(resources), 0.0);
};

bool operator==(const Spent& one, const Spent& other) { return one.cost == other.cost && one.use == other.use; }

bool operator<(const Spent& one, const Spent& other) {
    return one.cost != other.cost ? one.cost < other.cost : one.use < other.use;
}

struct Extend {
    bool operator()(const Graph& graph, Spent& made, const Spent& old, boost::graph_traits<Graph>::edge_descriptor edge) const {
        const Arc& arc = boost::get(boost::edge_bundle, graph)[edge];
        made.cost = old.cost + arc.cost;
        bool within = true;
        for (int k = 0; k < resources; ++k) {
            made.use[k] = old.use[k] + arc.use[k];
            within &= made.use[k] <= upper[k];
        }
        return within;
    }
};

// With a lower limit, having used more of a resource may be what a path needs.
struct Dominates {
    bool operator()(const Spent& one, const Spent& other) const {
        if (one.cost > other.cost) return false;
        for (int k = 0; k < resources; ++k) {
            if (one.use[k] > other.use[k]) return false;
            if (std::min(one.use[k], lower[k]) < std::min(other.use[k], lower[k])) return false;
        }
        return true;
    }
};

using Clock = std::chrono::steady_clock;

bool complete(const Spent& spent) {
    for (int k = 0; k < resources; ++k)
        if (spent.use[k] < lower[k]) return false;
    return true;
}

struct Visitor {
    std::size_t target;
    bool early;
    Clock::time_point deadline;
    bool* late;
    bool* done;
    long* popped;
    template <class Label> void on_label_popped(const Label& label, const Graph&) {
        if (early && label.resident_vertex == target && complete(label.cumulated_resource_consumption)) *done = true;
        if (++*popped % 256 == 0 && Clock::now() > deadline) *late = true;
    }
    template <class Label> void on_label_feasible(const Label&, const Graph&) {}
    template <class Label> void on_label_not_feasible(const Label&, const Graph&) {}
    template <class Label> void on_label_dominated(const Label&, const Graph&) {}
    template <class Label> void on_label_not_dominated(const Label&, const Graph&) {}
    template <class Queue> bool on_enter_loop(const Queue&, const Graph&) { return !*late && !*done; }
};

}  // namespace

// 0: no path is feasible, 1: found[0] is the least cost, 2: out of time. found[1]: seconds of the search alone.
extern "C" int search(int n, int m, int K, const int* ends, const double* cost, const double* use, const double* limits,
                      int source, int target, int early, double seconds, double* found) {
    resources = K;
    lower = limits;
    upper = limits + K;
    Graph graph(static_cast<std::size_t>(n));
    for (int v = 0; v < n; ++v) graph[static_cast<std::size_t>(v)].num = v;
    for (int e = 0; e < m; ++e)
        boost::add_edge(ends[2 * e], ends[2 * e + 1], Arc{e, cost[e], use + static_cast<std::ptrdiff_t>(e) * K}, graph);
    const Clock::time_point began = Clock::now();
    bool late = false, done = false;
    long popped = 0;
    const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    Visitor visitor{static_cast<std::size_t>(target), early != 0, began + limit, &late, &done, &popped};
    std::vector<std::vector<boost::graph_traits<Graph>::edge_descriptor>> paths;
    std::vector<Spent> ended;
    boost::r_c_shortest_paths(graph, boost::get(&Vertex::num, graph), boost::get(&Arc::num, graph),
                              static_cast<std::size_t>(source), static_cast<std::size_t>(target), paths, ended, Spent(),
                              Extend(), Dominates(),
                              std::allocator<boost::r_c_shortest_paths_label<Graph, Spent>>(), visitor);
    found[1] = std::chrono::duration<double>(Clock::now() - began).count();
    if (late) return 2;
    int code = 0;
    for (const Spent& one : ended) {
        if (!complete(one) || (code && one.cost >= found[0])) continue;
        found[0] = one.cost;
        code = 1;
    }
    return code;
}
