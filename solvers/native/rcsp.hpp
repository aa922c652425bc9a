// The resource-constrained shortest path problem on a static graph: prune, then set labels.
#pragma once

#include "rcsp_labels.hpp"

namespace tape::rcsp {

constexpr int MOST_STATIC_RESOURCES = 60;

// Labels that may be made before anything is pruned.
constexpr std::size_t FEW_LABELS = 1024;

// Labels that may be made in the search for any path at all.
constexpr std::size_t MOST_LABELS = 200'000;

struct Answer {
    Ending ending = Ending::OutOfTime;
    std::vector<Path> paths;  // best first; with Unbounded the arcs of a circle
    Score bound = -FAR;       // no path that is not among these is cheaper
    std::size_t labels = 0;
    int arcs = 0;             // that pruning left
    double bytes = 0;
};

// Which arcs lie on some way from the source to the target, each within the limits alone; false if there is no way.
inline bool useful(const Problem &problem, bool within, bool simple, std::vector<char> &keep) {
    const Graph &graph = problem.graph;
    keep.assign(std::size_t(graph.arcs()), 1);
    if (simple)
        for (int a = 0; a < graph.arcs(); ++a) keep[a] = graph.head[a] != graph.source && graph.tail[a] != graph.target;
    if (within)
        for (int k = 0; k < graph.resources; ++k)
            if (problem.limits(k))
                for (int a = 0; a < graph.arcs(); ++a) keep[a] &= char(graph.used(k)[a] <= problem.upper[k]);
    std::vector<char> there(graph.nodes, 0), back(graph.nodes, 0);
    Indices queue{graph.source};
    there[graph.source] = 1;
    for (std::size_t i = 0; i < queue.size(); ++i)
        for (int a = graph.out[queue[i]]; a < graph.out[queue[i] + 1]; ++a)
            if (keep[a] && !there[graph.head[a]]) {
                there[graph.head[a]] = 1;
                queue.push_back(graph.head[a]);
            }
    queue.assign(1, graph.target);
    back[graph.target] = 1;
    for (std::size_t i = 0; i < queue.size(); ++i)
        for (int j = graph.in[queue[i]]; j < graph.in[queue[i] + 1]; ++j) {
            const int a = graph.in_arc[j];
            if (keep[a] && !back[graph.tail[a]]) {
                back[graph.tail[a]] = 1;
                queue.push_back(graph.tail[a]);
            }
        }
    for (int a = 0; a < graph.arcs(); ++a) keep[a] &= char(there[graph.tail[a]] && back[graph.head[a]]);
    return there[graph.target] != 0;
}

// The ends and the cost of each arc by its id, for what is asked of paths.
class Ends {
  public:
    explicit Ends(const Graph &graph)
        : nodes_(graph.nodes), tail(graph.tail.size()), head(graph.tail.size()), cost(graph.tail.size()) {
        for (int a = 0; a < graph.arcs(); ++a) {
            tail[graph.id[a]] = graph.tail[a];
            head[graph.id[a]] = graph.head[a];
            cost[graph.id[a]] = graph.cost[a];
        }
    }

    // Nodes that a path visits again.
    void repeats(const Path &path, Indices &nodes) const {
        Indices seen;
        for (const int id : path.ids) seen.push_back(tail[id]);
        if (!path.ids.empty()) seen.push_back(head[path.ids.back()]);
        std::sort(seen.begin(), seen.end());
        for (std::size_t i = 1; i < seen.size(); ++i)
            if (seen[i] == seen[i - 1]) nodes.push_back(seen[i]);
    }

    // Leaves the circles out of a path.
    void straighten(Path &path) const {
        Indices at(std::size_t(nodes_), -1), straight;  // at: how many arcs lead to a node
        for (const int id : path.ids) {
            if (straight.empty()) at[tail[id]] = 0;
            straight.push_back(id);
            int &place = at[head[id]];
            if (place < 0) {
                place = int(straight.size());
                continue;
            }
            for (std::size_t i = std::size_t(place); i + 1 < straight.size(); ++i) at[head[straight[i]]] = -1;
            straight.resize(std::size_t(place));
        }
        path.ids = std::move(straight);
        path.cost = 0;
        for (const int id : path.ids) path.cost += cost[id];
    }

  private:
    int nodes_;
    Indices tail, head;
    std::vector<Score> cost;
};

// Whether the best paths may turn in circles, so that a path without any has to be asked for.
inline bool may_turn(const Problem &problem) {
    const std::vector<Score> &cost = problem.graph.cost;
    return problem.graph.order.empty() &&
           (problem.wanted > 1 || problem.any_lower() || std::any_of(cost.begin(), cost.end(), [](Score c) { return c < 0; }));
}

// No more moves than there are other nodes: with that, no circle is free.
inline void limit_moves(Problem &problem) {
    problem.graph.use.resize(problem.graph.tail.size() * std::size_t(++problem.graph.resources), 1);
    problem.lower.push_back(0);
    problem.upper.push_back(problem.graph.nodes - 1);
}

class Solve {
  public:
    // Arcs of the problem's graph are numbered by id from 0.
    Solve(Problem problem, Clock &clock)
        : problem_(std::move(problem)), clock_(clock), simple_(problem_.simple), ends_(problem_.graph) {}

    Answer run() {
        try {
            answer_.ending = search();
        } catch (const Late &) {
            answer_.ending = Ending::OutOfTime;
        } catch (const TooLarge &large) {
            answer_.ending = Ending::TooLarge;
            answer_.bytes = large.bytes;
        }
        if (!pruner_ || answer_.ending == Ending::Unbounded) return std::move(answer_);
        answer_.arcs = problem_.graph.arcs();
        answer_.bound = std::min(std::max(answer_.bound, pruner_->bound()), pruner_->ceiling());
        answer_.paths = pruner_->found();
        if (answer_.ending == Ending::Proved) answer_.bound = answer_.paths.back().cost;
        if (simple_ && !problem_.simple)
            for (Path &path : answer_.paths) ends_.straighten(path);
        return std::move(answer_);
    }

  private:
    Ending search() {
        std::vector<char> keep;
        Path circle;
        if (!useful(problem_, false, simple_, keep)) return Ending::Unreachable;
        if (!useful(problem_, true, simple_, keep)) return Ending::Infeasible;
        Indices origin;
        if (std::find(keep.begin(), keep.end(), 0) != keep.end()) problem_.graph = kept_of(problem_.graph, keep, origin);
        Graph &graph = problem_.graph;
        for (int k = 0; k < graph.resources; ++k) {  // where nothing limits, more than the lower limit is as good as it
            Amount *const used = graph.use.data() + std::size_t(k) * graph.tail.size();
            if (!problem_.limits(k))
                for (int a = 0; a < graph.arcs(); ++a) used[a] = std::min(used[a], problem_.lower[k]);
        }
        problem_.simple = simple_ && may_turn(problem_);
        pruner_ = std::make_unique<Pruner>(problem_, clock_);
        Ending ending = pruner_->begin();
        while (ending == Ending::Unbounded) {
            if (simple_) {
                limit_moves(problem_);
            } else {
                const int node = graph.tail[pruner_->circle().front()];
                ending = passes(node);
                if (ending == Ending::Proved) {
                    for (const int a : pruner_->circle()) circle.ids.push_back(graph.id[a]);
                    answer_.paths.push_back(std::move(circle));
                    return Ending::Unbounded;
                }
                if (ending != Ending::Infeasible) return ending;
                std::vector<char> gone(graph.nodes, 0);  // a path that came to one of them could turn the whole circle
                for (const int a : pruner_->circle()) gone[graph.tail[a]] = 1;
                if (gone[graph.source] || gone[graph.target]) return Ending::Infeasible;
                keep.assign(graph.tail.size(), 1);
                for (int a = 0; a < graph.arcs(); ++a) keep[a] = !gone[graph.tail[a]] && !gone[graph.head[a]];
                graph = kept_of(graph, keep, origin);
                if (!useful(problem_, true, simple_, keep)) return Ending::Infeasible;
                graph = kept_of(graph, keep, origin);
            }
            pruner_ = std::make_unique<Pruner>(problem_, clock_);
            ending = pruner_->begin();
        }
        if (ending == Ending::OutOfTime && problem_.wanted == 1 && !problem_.simple && !problem_.any_lower()) {
            ending = labelled({}, true, FEW_LABELS);
            if (clock_.passed()) return ending;
        }
        if (ending == Ending::OutOfTime) ending = pruner_->prune();
        if (ending != Ending::OutOfTime) return ending;
        if (problem_.wanted == 1 && !problem_.any_lower() && !pruner_->circles_pay()) problem_.simple = false;
        if (problem_.wanted == 1 && !problem_.simple && !problem_.any_lower() && pruner_->found().empty()) {
            if (first_path() == Ending::Infeasible) return Ending::Infeasible;
            if (!pruner_->found().empty() && (ending = pruner_->prune()) != Ending::OutOfTime) return ending;
        }
        return set_labels();
    }

    // Whether a path that keeps the limits visits a node: Proved, Infeasible, or nothing is known. A path changes over at
    // the node from one copy of the graph to another, where the target is.
    Ending passes(int node) {
        const Graph &graph = problem_.graph;
        const int n = graph.nodes, m = graph.arcs();
        Problem twice;
        Graph &both = twice.graph;
        both.nodes = 2 * n;
        both.resources = graph.resources;
        both.source = graph.source;
        both.target = n + graph.target;
        for (int v = 0; v < 2 * n; ++v) both.name.push_back(v);
        const auto add = [&](int tail, int head) {
            both.tail.push_back(tail);
            both.head.push_back(head);
            both.id.push_back(int(both.id.size()));
        };
        for (int v = 0; v < n; ++v) {  // arcs by tail
            for (int a = graph.out[v]; a < graph.out[v + 1]; ++a) add(v, graph.head[a]);
            if (v == node) add(v, n + v);
        }
        for (int a = 0; a < m; ++a) add(n + graph.tail[a], n + graph.head[a]);
        both.cost.assign(both.tail.size(), 0);
        for (int k = 0; k < graph.resources; ++k) {
            const Amount *const used = graph.used(k), *const over = used + graph.out[node + 1];
            both.use.insert(both.use.end(), used, over);
            both.use.push_back(0);
            both.use.insert(both.use.end(), over, used + m);
            both.use.insert(both.use.end(), used, used + m);
        }
        both.index();
        twice.lower = problem_.lower;
        twice.upper = problem_.upper;
        twice.threads = problem_.threads;
        twice.enough = 0;
        const Answer answer = Solve(std::move(twice), clock_).run();
        return answer.paths.empty() ? answer.ending : Ending::Proved;
    }

    // Looks for any path at all: one that uses least of a resource, within the other limits. That is an easier problem
    // of the same kind. OutOfTime: nothing is known.
    Ending first_path() {
        const Graph &graph = problem_.graph;
        int scarce = -1;
        double least = 2;
        for (int k = 0; k < graph.resources; ++k)
            if (problem_.limits(k) && pruner_->leeway(k) < least) {
                least = pruner_->leeway(k);
                scarce = k;
            }
        if (scarce < 0) return Ending::OutOfTime;
        Problem easier;
        easier.graph = graph;
        easier.threads = problem_.threads;
        easier.enough = problem_.upper[scarce];
        easier.ceiling = problem_.upper[scarce] + 1;
        easier.most_labels = MOST_LABELS;
        const std::size_t m = graph.tail.size();
        easier.graph.cost.assign(graph.used(scarce), graph.used(scarce) + m);
        const Score most = LARGEST_WEIGHT / 2 / graph.nodes;
        if (std::any_of(easier.graph.cost.begin(), easier.graph.cost.end(), [&](Score cost) { return cost > most; }))
            return Ending::OutOfTime;
        easier.graph.use.clear();
        easier.graph.resources = 0;
        for (int k = 0; k < graph.resources; ++k) {
            if (k == scarce || !problem_.limits(k)) continue;
            easier.graph.use.insert(easier.graph.use.end(), graph.used(k), graph.used(k) + m);
            ++easier.graph.resources;
            easier.lower.push_back(0);
            easier.upper.push_back(problem_.upper[k]);
        }
        for (int a = 0; a < graph.arcs(); ++a) easier.graph.id[a] = a;
        Answer answer = Solve(std::move(easier), clock_).run();
        answer_.labels += answer.labels;
        if (answer.ending == Ending::Infeasible || answer.paths.empty()) return answer.ending;
        Path path;
        for (const int a : answer.paths.front().ids) {
            path.cost += graph.cost[a];
            path.ids.push_back(graph.id[a]);
        }
        pruner_->offer(std::move(path));
        return Ending::OutOfTime;
    }

    // Sets labels; where paths turn in circles that must not, again with the nodes remembered that they come back to.
    Ending set_labels() {
        const std::vector<Path> before = pruner_->found();
        Indices critical;
        for (;;) {
            const Ending ending = labelled(critical, false, problem_.most_labels);
            if (!problem_.simple) return ending;
            const std::size_t known = critical.size();
            for (const Path &path : pruner_->found()) ends_.repeats(path, critical);
            std::sort(critical.begin(), critical.end());
            critical.erase(std::unique(critical.begin(), critical.end()), critical.end());
            if (critical.size() == known) return ending;
            pruner_->forget();
            for (const Path &path : before) pruner_->offer(path);
            if (ending != Ending::Proved && ending != Ending::Infeasible) return ending;
        }
    }

    Ending labelled(const Indices &critical, bool quick, std::size_t labels) {
        Amount most = 0;
        for (int k = 0; k < problem_.graph.resources; ++k)
            most = std::max(most, problem_.limits(k) ? problem_.upper[k] : problem_.lower[k]);
        return most < (Amount{1} << 29) ? labelled_in<std::int32_t>(critical, quick, labels)
                                        : labelled_in<Amount>(critical, quick, labels);
    }

    template <class Use> Ending labelled_in(const Indices &critical, bool quick, std::size_t most) {
        Labels<Use> labels(problem_, *pruner_, critical, quick, most, clock_);
        Ending ending = Ending::OutOfTime;
        try {
            if (labels.run()) ending = Ending::Proved;
        } catch (const Late &) {  // what was found so far may still turn in circles: that is for the caller to see
        } catch (const TooLarge &large) {
            answer_.bytes = large.bytes;
            ending = Ending::TooLarge;
        }
        if (!labels.write_out()) ending = Ending::TooLarge;
        answer_.labels += labels.made();
        answer_.bound = std::max(answer_.bound, labels.bound());
        if (labels.too_wide()) ending = Ending::TooWide;
        return ending == Ending::Proved && pruner_->found().empty() ? Ending::Infeasible : ending;
    }

    Problem problem_;
    Clock &clock_;
    bool simple_;
    Ends ends_;
    std::unique_ptr<Pruner> pruner_;
    Answer answer_;
};

}  // namespace tape::rcsp
