// The graph that is searched: arcs by tail, what they cost and use, and what it costs to arrive and to end at a node.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>

#include "clock.hpp"
#include "types.hpp"

namespace tape {

// The search minimises. A cost may be below zero; amounts are not.
using Cost = std::int64_t;
using Costs = std::vector<Cost>;

// More than any sum; what is as far as half of it counts as out of reach. Two of them can be added.
constexpr Cost FAR = Cost{1} << 61;

// Neither what a path of interest costs, in the finest unit, nor what all limits come to at any prices is more than this.
constexpr Cost LARGEST_WEIGHT = Cost{1} << 56;

// No more than this limits nothing.
constexpr Amount NO_LIMIT = Amount{1} << 60;

// The moves that arcs make. In a time-expanded graph many arcs share one.
struct Moves {
    int resources = 0;
    Costs cost;    // of each move
    Amounts use;   // moves x resources
    Indices edge;  // of each move: its number in the problem as it was posed

    const Amount *used(int move) const { return use.data() + std::size_t(move) * std::size_t(resources); }
    int count() const { return int(edge.size()); }
};

// The nodes along the arcs; fewer than there are where there is a circle.
inline Indices along(int nodes, const Indices &out, const Indices &head) {
    Indices missing(nodes, 0), order;
    order.reserve(nodes);
    for (const auto h : head) ++missing[h];
    for (int v = 0; v < nodes; ++v)
        if (missing[v] == 0) order.push_back(v);
    for (std::size_t i = 0; i < order.size(); ++i)
        for (int a = out[order[i]]; a < out[order[i] + 1]; ++a)
            if (--missing[head[a]] == 0) order.push_back(head[a]);
    return order;
}

struct Graph {
    int nodes = 0, source = 0;
    bool sorted = true;  // every arc leads from a node to one of greater number: there is no circle
    bool shared = false;  // several arcs may make one move; else arc a makes move a
    bool arrivals = false;  // arriving somewhere costs something, beside the move
    Indices out;         // [nodes + 1] arcs out of v: out[v]..out[v + 1]
    Indices head, move;  // of each arc; sorted by tail, then by edge
    Costs arrive;        // [nodes] what arriving costs, beside the move
    Costs finish;        // [nodes] what ending here costs; FAR where no path may end
    Indices name;        // [nodes] the number of each node before any was left out
    Indices in, by;      // where there are circles: arcs into v: by[in[v]..in[v + 1]]
    Indices tail;        // the same: of each arc

    int arcs() const { return int(head.size()); }
    bool ends(int v) const { return finish[v] < FAR / 2; }
    bool empty() const { return nodes == 0 || (arcs() == 0 && !ends(source)); }
    double bytes() const {
        return bytes_of(out) + bytes_of(head) + bytes_of(move) + bytes_of(arrive) + bytes_of(finish) + bytes_of(name) +
               bytes_of(in) + bytes_of(by) + bytes_of(tail);
    }

    // Numbers the nodes along the arcs, where that can be: `name` has the old number of each, what is returned the new one.
    Indices arrange(int count, const Indices &first, const Indices &heads) {
        nodes = count;
        name = along(count, first, heads);
        sorted = int(name.size()) == count;
        if (!sorted) {
            name.resize(count);
            std::iota(name.begin(), name.end(), 0);
        }
        Indices place(count);
        for (int v = 0; v < count; ++v) place[name[v]] = v;
        return place;
    }

    // Fills what is only needed where there are circles.
    void index() {
        if (sorted) return;
        const int m = arcs();
        tail.resize(m);
        in.assign(std::size_t(nodes) + 1, 0);
        for (int v = 0; v < nodes; ++v)
            for (int a = out[v]; a < out[v + 1]; ++a) {
                tail[a] = v;
                ++in[head[a] + 1];
            }
        std::partial_sum(in.begin(), in.end(), in.begin());
        by.resize(m);
        Indices next(in.begin(), in.end() - 1);
        for (int a = 0; a < m; ++a) by[next[head[a]]++] = a;
    }
};

// Leaves out the arcs that are not kept, and what then is on no way from the source to an end. Returns the old number of
// each node. No nodes are left if there is no way.
inline Indices reduce(Graph &graph, Moves &moves, const std::vector<std::uint8_t> &keep, Clock &clock) {
    const int n = graph.nodes;
    std::vector<std::uint8_t> there(n, 0), useful(n, 0);
    clock.tick(std::size_t(graph.arcs()) + n);
    there[graph.source] = 1;
    if (graph.sorted) {
        for (int v = 0; v < n; ++v)
            if (there[v])
                for (int a = graph.out[v]; a < graph.out[v + 1]; ++a) there[graph.head[a]] |= keep[a];
        for (int v = n; v-- > 0;) {
            useful[v] = graph.ends(v);
            for (int a = graph.out[v]; a < graph.out[v + 1] && !useful[v]; ++a) useful[v] = keep[a] & useful[graph.head[a]];
        }
    } else {
        Indices queue{graph.source};
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (int a = graph.out[queue[i]]; a < graph.out[queue[i] + 1]; ++a)
                if (keep[a] && !there[graph.head[a]]) {
                    there[graph.head[a]] = 1;
                    queue.push_back(graph.head[a]);
                }
        queue.clear();
        for (int v = 0; v < n; ++v)
            if (graph.ends(v)) {
                useful[v] = 1;
                queue.push_back(v);
            }
        for (std::size_t i = 0; i < queue.size(); ++i)
            for (int j = graph.in[queue[i]]; j < graph.in[queue[i] + 1]; ++j) {
                const int a = graph.by[j], v = graph.tail[a];
                if (keep[a] && !useful[v]) {
                    useful[v] = 1;
                    queue.push_back(v);
                }
            }
    }
    Indices fresh(n, -1), old;
    for (int v = 0; v < n; ++v)
        if (there[v] && useful[v]) {
            fresh[v] = std::int32_t(old.size());
            old.push_back(v);
        }
    const int left = int(old.size());
    if (left == n && std::find(keep.begin(), keep.end(), 0) == keep.end()) return old;
    std::int32_t arcs = 0;
    for (int i = 0; i < left; ++i) {  // in place: nothing moves to the right
        const int v = old[i], begin = graph.out[v], end = graph.out[v + 1];
        graph.out[i] = arcs;
        for (int a = begin; a < end; ++a)
            if (keep[a] && fresh[graph.head[a]] >= 0) {
                graph.head[arcs] = fresh[graph.head[a]];
                graph.move[arcs++] = graph.move[a];
            }
        graph.arrive[i] = graph.arrive[v];
        graph.finish[i] = graph.finish[v];
        graph.name[i] = graph.name[v];
    }
    graph.out[left] = arcs;
    graph.out.resize(std::size_t(left) + 1);
    graph.head.resize(arcs);
    graph.move.resize(arcs);
    graph.arrive.resize(left);
    graph.finish.resize(left);
    graph.name.resize(left);
    graph.nodes = left;
    graph.source = left ? fresh[graph.source] : 0;
    if (!graph.shared) {  // so that what is made for each move is not made for those that are gone
        const std::size_t K = std::size_t(moves.resources);
        for (int a = 0; a < arcs; ++a) {
            const std::size_t m = std::size_t(graph.move[a]);
            moves.cost[a] = moves.cost[m];
            moves.edge[a] = moves.edge[m];
            std::copy_n(moves.use.data() + m * K, K, moves.use.data() + std::size_t(a) * K);
            graph.move[a] = a;
        }
        moves.cost.resize(arcs);
        moves.edge.resize(arcs);
        moves.use.resize(std::size_t(arcs) * K);
    }
    graph.index();
    return old;
}

// Carries what is known of each node over a `reduce`.
template <class T> void carry(std::vector<T> &values, const Indices &old) {
    for (std::size_t i = 0; i < old.size(); ++i) values[i] = values[old[i]];
    values.resize(old.size());
}

}  // namespace tape
