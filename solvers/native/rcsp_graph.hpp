// The static graph of a resource-constrained shortest path problem: arcs by tail and by head, and paths from one end.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "clock.hpp"
#include "types.hpp"

namespace tape::rcsp {

// More than any sum; what is as far as half of it counts as out of reach. Two of them can be added.
constexpr Score FAR = Score{1} << 61;

// Neither what a simple path costs nor what all limits come to at any prices is more than this.
constexpr Score LARGEST_WEIGHT = Score{1} << 56;

// No more than this limits nothing.
constexpr Amount NO_LIMIT = Amount{1} << 60;

struct Graph {
    int nodes = 0, resources = 0, source = 0, target = 0;
    Indices name;               // of each node: its number in the problem as it was posed
    Indices tail, head, id;     // of each arc; sorted by tail, then by id
    std::vector<Score> cost;    // of each arc
    Amounts use;                // resources x arcs: use[k * arcs + arc]
    Indices out, in, in_arc;    // arcs out of v: out[v]..out[v + 1]; arcs into v: in_arc[in[v]..in[v + 1]]
    Indices order;              // of the nodes, along the arcs; empty where there is a circle

    int arcs() const { return int(tail.size()); }
    const Amount *used(int k) const { return use.data() + std::size_t(k) * tail.size(); }
    double bytes() const { return double(arcs()) * (16 + 8 + 8.0 * resources) + 12.0 * nodes; }

    // Fills what follows from tails and heads.
    void index() {
        const int m = arcs();
        out.assign(std::size_t(nodes) + 1, 0);
        in.assign(std::size_t(nodes) + 1, 0);
        for (int a = 0; a < m; ++a) {
            ++out[tail[a] + 1];
            ++in[head[a] + 1];
        }
        for (int v = 0; v < nodes; ++v) {
            out[v + 1] += out[v];
            in[v + 1] += in[v];
        }
        in_arc.resize(m);
        Indices next(in.begin(), in.end() - 1);
        for (int a = 0; a < m; ++a) in_arc[next[head[a]]++] = a;
        sort_nodes();
    }

  private:
    void sort_nodes() {
        Indices missing(nodes);
        order.clear();
        order.reserve(nodes);
        for (int v = 0; v < nodes; ++v)
            if ((missing[v] = in[v + 1] - in[v]) == 0) order.push_back(v);
        for (std::size_t i = 0; i < order.size(); ++i)
            for (int a = out[order[i]]; a < out[order[i] + 1]; ++a)
                if (--missing[head[a]] == 0) order.push_back(head[a]);
        if (order.size() < std::size_t(nodes)) order.clear();
    }
};

// The least weight from the source to each node, or from each node to the target, and the arc by which.
struct Tree {
    std::vector<Score> far;
    Indices arc;      // -1: none
    Indices settled;  // nodes that are reached, each after the one that it is reached from
};

// A heap of nodes with four children each; entries that a shorter way made stale are skipped as they come up.
class Heap {
  public:
    bool empty() const { return entries_.empty(); }
    void clear() { entries_.clear(); }
    std::vector<std::pair<Score, int>> take() { return std::exchange(entries_, {}); }

    void push(Score far, int node) {
        std::size_t i = entries_.size();
        entries_.push_back({far, node});
        while (i > 0) {
            const std::size_t up = (i - 1) / 4;
            if (entries_[up].first <= far) break;
            entries_[i] = entries_[up];
            i = up;
        }
        entries_[i] = {far, node};
    }

    std::pair<Score, int> pop() {
        const auto top = entries_.front(), last = entries_.back();
        entries_.pop_back();
        const std::size_t n = entries_.size();
        std::size_t i = 0;
        for (std::size_t child; n > 0 && (child = 4 * i + 1) < n;) {
            std::size_t least = child;
            for (std::size_t c = child + 1; c < std::min(child + 4, n); ++c)
                if (entries_[c].first < entries_[least].first) least = c;
            if (last.first <= entries_[least].first) break;
            entries_[i] = entries_[least];
            i = least;
        }
        if (n > 0) entries_[i] = last;
        return top;
    }

  private:
    std::vector<std::pair<Score, int>> entries_;
};

// From this many arcs on, what can be done side by side is.
constexpr int MANY_ARCS = 20'000;

// Thrown in a thread where another one stopped.
struct Halted {};

// What long work asks now and then whether to go on: the thread that was called asks the clock, the others that one.
class Pulse {
  public:
    explicit Pulse(Clock &clock) : clock_(&clock) {}
    explicit Pulse(const std::atomic<bool> &halted) : halted_(&halted) {}

    void tick(std::size_t steps) {
        if (clock_) clock_->tick(steps);
        else if (halted_->load(std::memory_order_relaxed)) throw Halted{};
    }

  private:
    Clock *clock_ = nullptr;
    const std::atomic<bool> *halted_ = nullptr;
};

// Does `part(0)`..`part(count - 1)`, on as many threads as are given; what they make does not depend on how many.
template <class Part> void side_by_side(int count, int threads, Clock &clock, Part &&part) {
    threads = std::max(1, std::min(threads, count));
    std::atomic<bool> halted{false};
    std::exception_ptr failure;  // the last one of a thread that is not the caller's
    std::mutex failing;
    const auto share = [&](int first, Pulse pulse) {
        for (int i = first; i < count; i += threads) part(i, pulse);
    };
    std::vector<std::thread> others;
    const auto end = [&] {
        for (std::thread &other : others) other.join();
    };
    int begun = 1;
    try {
        for (; begun < threads; ++begun)
            others.emplace_back([&, begun] {
                try {
                    share(begun, Pulse(halted));
                } catch (const Halted &) {
                } catch (...) {
                    const std::lock_guard<std::mutex> lock(failing);
                    failure = std::current_exception();
                }
            });
    } catch (const std::exception &) {  // no more threads to be had
    }
    try {
        share(0, Pulse(clock));
        for (; begun < threads; ++begun) share(begun, Pulse(clock));
    } catch (...) {
        halted = true;
        end();
        throw;
    }
    end();
    if (failure) std::rethrow_exception(failure);
}

// Least weights from the source (Forward) or to the target; weights of arcs are not negative where there is a circle.
template <bool Forward> void grow(const Graph &graph, const Score *weight, Tree &tree, Heap &heap, Pulse pulse) {
    tree.far.assign(graph.nodes, FAR / 2);
    tree.arc.assign(graph.nodes, -1);
    tree.settled.clear();
    const int root = Forward ? graph.source : graph.target;
    tree.far[root] = 0;
    const auto relax = [&](int node, auto &&reached) {
        const Score far = tree.far[node];
        pulse.tick(8);
        if (Forward) {
            for (int a = graph.out[node]; a < graph.out[node + 1]; ++a)
                if (const Score sum = far + weight[a]; sum < tree.far[graph.head[a]]) {
                    tree.far[graph.head[a]] = sum;
                    tree.arc[graph.head[a]] = a;
                    reached(sum, graph.head[a]);
                }
        } else {
            for (int i = graph.in[node]; i < graph.in[node + 1]; ++i) {
                const int a = graph.in_arc[i];
                if (const Score sum = far + weight[a]; sum < tree.far[graph.tail[a]]) {
                    tree.far[graph.tail[a]] = sum;
                    tree.arc[graph.tail[a]] = a;
                    reached(sum, graph.tail[a]);
                }
            }
        }
    };
    if (!graph.order.empty()) {
        const int n = graph.nodes;
        for (int i = 0; i < n; ++i) {
            const int node = graph.order[Forward ? i : n - 1 - i];
            if (tree.far[node] >= FAR / 2) continue;
            tree.settled.push_back(node);
            relax(node, [](Score, int) {});
        }
        return;
    }
    heap.clear();
    heap.push(0, root);
    while (!heap.empty()) {
        const auto [far, node] = heap.pop();
        if (far != tree.far[node]) continue;
        tree.settled.push_back(node);
        relax(node, [&](Score sum, int next) { heap.push(sum, next); });
    }
}

// The graph of the arcs that are kept and of their nodes; `origin` gets, for each node, its number before.
inline Graph kept_of(const Graph &graph, const std::vector<char> &keep, Indices &origin) {
    Graph less;
    less.resources = graph.resources;
    Indices number(graph.nodes, -1);
    const int m = graph.arcs();
    int arcs = 0;
    number[graph.source] = number[graph.target] = 0;
    for (int a = 0; a < m; ++a)
        if (keep[a]) {
            number[graph.tail[a]] = number[graph.head[a]] = 0;
            ++arcs;
        }
    origin.clear();
    for (int v = 0; v < graph.nodes; ++v)
        if (number[v] == 0) {
            number[v] = int(origin.size());
            origin.push_back(v);
        }
    less.nodes = int(origin.size());
    for (const int v : origin) less.name.push_back(graph.name[v]);
    less.source = number[graph.source];
    less.target = number[graph.target];
    less.tail.reserve(arcs);
    less.head.reserve(arcs);
    less.id.reserve(arcs);
    less.cost.reserve(arcs);
    for (int a = 0; a < m; ++a)
        if (keep[a]) {
            less.tail.push_back(number[graph.tail[a]]);
            less.head.push_back(number[graph.head[a]]);
            less.id.push_back(graph.id[a]);
            less.cost.push_back(graph.cost[a]);
        }
    less.use.resize(std::size_t(arcs) * graph.resources);
    for (int k = 0; k < graph.resources; ++k) {
        const Amount *from = graph.used(k);
        Amount *to = less.use.data() + std::size_t(k) * arcs;
        for (int a = 0; a < m; ++a)
            if (keep[a]) *to++ = from[a];
    }
    less.index();
    return less;
}

}  // namespace tape::rcsp
