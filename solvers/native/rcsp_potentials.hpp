// Potentials: what makes negative costs non-negative without changing which paths are cheap (Bellman and Ford).
#pragma once

#include "rcsp_graph.hpp"

namespace tape::rcsp {

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

// Potentials for these weights; false if a circle of negative weight is in the way, which `circle` gets.
inline bool settle(const Graph &graph, const std::vector<Score> &weight, std::vector<Score> &potential, Indices &circle, Clock &clock) {
    std::vector<Score> far(graph.nodes, 0);
    Indices by(graph.nodes, -1);
    const auto visit = [&](int v) {
        bool changed = false;
        for (int a = graph.out[v]; a < graph.out[v + 1]; ++a)
            if (far[v] + weight[a] < far[graph.head[a]]) {
                far[graph.head[a]] = far[v] + weight[a];
                by[graph.head[a]] = a;
                changed = true;
            }
        return changed;
    };
    for (int round = 0;; ++round) {
        bool changed = false;
        clock.tick(std::size_t(graph.arcs()));
        if (!graph.order.empty()) {
            for (const int v : graph.order) visit(v);
        } else {
            for (int v = 0; v < graph.nodes; ++v) changed |= visit(v);
        }
        if (!changed) break;
        if ((round % 8 == 7 || round > graph.nodes) && circle_of(graph, by, circle)) return false;
    }
    potential = std::move(far);
    return true;
}

}  // namespace tape::rcsp
