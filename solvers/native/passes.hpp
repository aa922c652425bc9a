// Passes over all arcs: the least weight from the source to each node, and from each node to the best end.
#pragma once

#include <utility>

#include "graph.hpp"
#include "side_by_side.hpp"

namespace tape {

// What a pass adds up. Where circles are, potentials keep it from ever going down (Johnson): what they add to the weight
// of a path depends on its ends alone.
struct Weights {
    Costs move;                        // of each move
    const Costs *arrive = nullptr;     // of each node; null for nothing
    const Costs *finish = nullptr;     // of each node; FAR where no path may end
    const Costs *potential = nullptr;  // of each node; null for none
    Cost payment = 0;                  // of all limits at the prices that are in `move`

    Cost arriving(int v) const { return arrive ? (*arrive)[v] : 0; }
    Cost raised(int v) const { return potential ? (*potential)[v] : 0; }
};

// Weights of nodes, what arriving there takes included; and, where there are circles, the arc by which.
struct Tree {
    Costs far;
    Indices arc;      // -1: none. Without circles it is left out, see `next_arc`
    Indices settled;  // nodes that are reached, each after the one that it is reached from

    // Nothing is reached yet.
    void begin(int nodes) {
        far.assign(nodes, FAR);
        arc.assign(nodes, -1);
        settled.clear();
    }
};

// A heap of nodes with four children each; entries that a shorter way made stale are skipped as they come up.
class Heap {
  public:
    using Entry = std::pair<Cost, int>;

    // The nearest first, of those as near any.
    struct Nearest {
        bool operator()(const Entry &one, const Entry &other) const { return one.first < other.first; }
    };

    bool empty() const { return entries_.empty(); }
    void clear() { entries_.clear(); }
    std::vector<Entry> take() { return std::exchange(entries_, {}); }

    template <class Before = Nearest> void push(Cost far, int node, const Before &before = {}) {
        const Entry entry{far, node};
        std::size_t i = entries_.size();
        entries_.push_back(entry);
        while (i > 0) {
            const std::size_t up = (i - 1) / 4;
            if (!before(entry, entries_[up])) break;
            entries_[i] = entries_[up];
            i = up;
        }
        entries_[i] = entry;
    }

    template <class Before = Nearest> Entry pop(const Before &before = {}) {
        const Entry top = entries_.front(), last = entries_.back();
        entries_.pop_back();
        const std::size_t n = entries_.size();
        std::size_t i = 0;
        for (std::size_t child; n > 0 && (child = 4 * i + 1) < n;) {
            std::size_t least = child;
            for (std::size_t c = child + 1; c < std::min(child + 4, n); ++c)
                if (before(entries_[c], entries_[least])) least = c;
            if (!before(entries_[least], last)) break;
            entries_[i] = entries_[least];
            i = least;
        }
        if (n > 0) entries_[i] = last;
        return top;
    }

  private:
    std::vector<Entry> entries_;
};

// Without circles: one look at each arc.
template <bool Arrive> void to_end_sorted(const Graph &graph, const Weights &weights, Costs &far, Pulse &pulse) {
    const Cost *const weight = weights.move.data(), *const finish = weights.finish->data();
    const Cost *const arrive = Arrive ? weights.arrive->data() : nullptr;
    const std::int32_t *const head = graph.head.data(), *const move = graph.move.data();
    far.resize(graph.nodes);
    for (int v = graph.nodes; v-- > 0;) {
        const int end = graph.out[v + 1];
        pulse.tick(std::size_t(1 + end - graph.out[v]));
        Cost best = finish[v];
        for (int a = graph.out[v]; a < end; ++a) {
            const Cost through = far[head[a]] + weight[move[a]];
            best = through < best ? through : best;
        }
        far[v] = std::min(best, FAR) + (Arrive ? arrive[v] : 0);
    }
}

template <bool Arrive> void from_source_sorted(const Graph &graph, const Weights &weights, Costs &far, Pulse &pulse) {
    const Cost *const weight = weights.move.data();
    const Cost *const arrive = Arrive ? weights.arrive->data() : nullptr;
    far.assign(graph.nodes, FAR);
    if (graph.nodes == 0) return;
    far[graph.source] = 0;
    for (int v = graph.source; v < graph.nodes; ++v) {
        const Cost here = std::min(far[v], FAR);
        const int end = graph.out[v + 1];
        pulse.tick(std::size_t(1 + end - graph.out[v]));
        for (int a = graph.out[v]; a < end; ++a) {
            const int h = graph.head[a];
            const Cost there = here + weight[graph.move[a]] + (Arrive ? arrive[h] : 0);
            far[h] = there < far[h] ? there : far[h];
        }
    }
}

// With circles: Dijkstra's algorithm on what the potentials leave.
inline void to_end_round(const Graph &graph, const Weights &weights, Tree &tree, Heap &heap, Pulse &pulse) {
    const int n = graph.nodes;
    tree.begin(n);
    heap.clear();
    Cost base = FAR;
    for (int v = 0; v < n; ++v)
        if (graph.ends(v)) base = std::min(base, (*weights.finish)[v] + weights.raised(v));
    for (int v = 0; v < n; ++v)
        if (graph.ends(v)) heap.push(tree.far[v] = (*weights.finish)[v] + weights.raised(v) - base, v);
    while (!heap.empty()) {
        const auto [far, v] = heap.pop();
        if (far != tree.far[v]) continue;
        tree.settled.push_back(v);
        pulse.tick(8);
        const Cost here = far + weights.arriving(v) - weights.raised(v);
        for (int j = graph.in[v]; j < graph.in[v + 1]; ++j) {
            const int a = graph.by[j], u = graph.tail[a];
            if (const Cost sum = here + weights.move[graph.move[a]] + weights.raised(u); sum < tree.far[u]) {
                tree.far[u] = sum;
                tree.arc[u] = a;
                heap.push(sum, u);
            }
        }
    }
    for (int v = 0; v < n; ++v)
        if (tree.far[v] < FAR) tree.far[v] += base - weights.raised(v) + weights.arriving(v);
}

inline void from_source_round(const Graph &graph, const Weights &weights, Tree &tree, Heap &heap, Pulse &pulse) {
    const int n = graph.nodes;
    tree.begin(n);
    heap.clear();
    if (n == 0) return;
    heap.push(tree.far[graph.source] = 0, graph.source);
    while (!heap.empty()) {
        const auto [far, v] = heap.pop();
        if (far != tree.far[v]) continue;
        tree.settled.push_back(v);
        pulse.tick(8);
        for (int a = graph.out[v]; a < graph.out[v + 1]; ++a) {
            const int h = graph.head[a];
            const Cost weight = weights.move[graph.move[a]] + weights.arriving(h);
            if (const Cost sum = far + weights.raised(v) + weight - weights.raised(h); sum < tree.far[h]) {
                tree.far[h] = sum;
                tree.arc[h] = a;
                heap.push(sum, h);
            }
        }
    }
    for (int v = 0; v < n; ++v)
        if (tree.far[v] < FAR) tree.far[v] += weights.raised(v) - weights.raised(graph.source);
}

inline void to_end(const Graph &graph, const Weights &weights, Tree &tree, Heap &heap, Pulse pulse) {
    if (!graph.sorted) to_end_round(graph, weights, tree, heap, pulse);
    else if (weights.arrive) to_end_sorted<true>(graph, weights, tree.far, pulse);
    else to_end_sorted<false>(graph, weights, tree.far, pulse);
}

inline void from_source(const Graph &graph, const Weights &weights, Tree &tree, Heap &heap, Pulse pulse) {
    if (!graph.sorted) from_source_round(graph, weights, tree, heap, pulse);
    else if (weights.arrive) from_source_sorted<true>(graph, weights, tree.far, pulse);
    else from_source_sorted<false>(graph, weights, tree.far, pulse);
}

// The arc by which the best way goes on from a node, of several the first; -1 where it ends there. `tree` is one of ways
// to the end at these weights.
inline int next_arc(const Graph &graph, const Weights &weights, const Tree &tree, int v) {
    if (!graph.sorted) return tree.arc[v];
    Cost best = (*weights.finish)[v];
    int choice = -1;
    for (int a = graph.out[v]; a < graph.out[v + 1]; ++a)
        if (const Cost through = tree.far[graph.head[a]] + weights.move[graph.move[a]]; through < best) {
            best = through;
            choice = a;
        }
    return choice;
}

// A circle among the arcs by which nodes are reached.
inline bool circle_of(const Graph &graph, const Indices &by, Indices &circle) {
    Indices seen(graph.nodes, -1);
    for (int first = 0; first < graph.nodes; ++first) {
        int v = first;
        while (v >= 0 && seen[v] < 0) {
            seen[v] = first;
            v = by[v] < 0 ? -1 : graph.tail[by[v]];
        }
        if (v < 0 || seen[v] != first) continue;
        circle.clear();
        const int end = v;
        do {
            circle.push_back(by[v]);
            v = graph.tail[by[v]];
        } while (v != end);
        std::reverse(circle.begin(), circle.end());
        return true;
    }
    return false;
}

// Potentials for these weights of moves (Bellman and Ford); false if a circle of negative weight is in the way, which
// `circle` gets.
inline bool settle(const Graph &graph, const Costs &weight, Costs &potential, Indices &circle, Clock &clock) {
    Costs far(graph.nodes, 0);
    Indices by(graph.nodes, -1);
    for (int round = 0;; ++round) {
        bool changed = false;
        clock.tick(std::size_t(graph.arcs()));
        for (int v = 0; v < graph.nodes; ++v)
            for (int a = graph.out[v]; a < graph.out[v + 1]; ++a)
                if (const Cost sum = far[v] + weight[graph.move[a]]; sum < far[graph.head[a]]) {
                    far[graph.head[a]] = sum;
                    by[graph.head[a]] = a;
                    changed = true;
                }
        if (!changed) break;
        if ((round % 8 == 7 || round > graph.nodes) && circle_of(graph, by, circle)) return false;
    }
    potential = std::move(far);
    return true;
}

}  // namespace tape
