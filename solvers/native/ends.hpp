// What is asked of paths by the edges of the problem as it was posed.
#pragma once

#include "problem.hpp"

namespace tape {

// The ends and the cost of each edge, for what is asked of paths.
class Ends {
  public:
    explicit Ends(const Problem &problem) : nodes_(problem.graph.nodes) {
        const Graph &graph = problem.graph;
        const std::size_t m = std::size_t(graph.arcs());
        for (auto *one : {&tail, &head}) one->resize(m);
        cost.resize(m);
        for (int v = 0; v < graph.nodes; ++v)
            for (int a = graph.out[v]; a < graph.out[v + 1]; ++a) {
                const int edge = problem.moves.edge[graph.move[a]];
                tail[edge] = graph.name[v];
                head[edge] = graph.name[graph.head[a]];
                cost[edge] = problem.moves.cost[graph.move[a]];
            }
    }

    Cost cost_of(const Indices &edges) const {
        Cost sum = 0;
        for (const int edge : edges) sum += cost[edge];
        return sum;
    }

    // Nodes that a path visits again.
    void repeats(const Path &path, Indices &nodes) const {
        Indices seen;
        for (const int edge : path.edges) seen.push_back(tail[edge]);
        if (!path.edges.empty()) seen.push_back(head[path.edges.back()]);
        std::sort(seen.begin(), seen.end());
        for (std::size_t i = 1; i < seen.size(); ++i)
            if (seen[i] == seen[i - 1]) nodes.push_back(seen[i]);
    }

    // Leaves the circles out of a path.
    void straighten(Path &path) const {
        Indices at(std::size_t(nodes_), -1), straight;  // at: how many edges lead to a node
        for (const int edge : path.edges) {
            if (straight.empty()) at[tail[edge]] = 0;
            straight.push_back(edge);
            int &place = at[head[edge]];
            if (place < 0) {
                place = int(straight.size());
                continue;
            }
            for (std::size_t i = std::size_t(place); i + 1 < straight.size(); ++i) at[head[straight[i]]] = -1;
            straight.resize(std::size_t(place));
        }
        path.edges = std::move(straight);
        path.cost = cost_of(path.edges);
    }

  private:
    int nodes_;
    Indices tail, head;
    Costs cost;
};

}  // namespace tape
