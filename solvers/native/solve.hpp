// The whole way from a problem to proved paths: prune, then set labels.
#pragma once

#include "ends.hpp"
#include "labels.hpp"
#include "smallest.hpp"

namespace tape {

// Labels that may be made before anything is pruned.
constexpr std::size_t FEW_LABELS = 1024;

struct Answer {
    Ending ending = Ending::OutOfTime;
    std::vector<Path> paths;  // best first; with Unbounded the edges of a circle
    Cost bound = -FAR;        // no path that is not among these is cheaper
    bool ordered = true;      // the paths are those of smallest edges, where that is asked for
    std::size_t labels = 0;
    int arcs = 0;             // that pruning left
    double bytes = 0;
};

class Solve {
  public:
    // The edges of a problem without shared moves are numbered from 0, and so are its nodes by name.
    Solve(Problem problem, Clock &clock) : problem_(std::move(problem)), clock_(clock), simple_(problem_.simple) {}

    Answer run() {
        try {
            answer_.ending = search();
            if (answer_.ending == Ending::Proved && problem_.ties && problem_.wanted == 1 && !pruner_->smallest()) order();
        } catch (const Late &) {
            answer_.ending = Ending::OutOfTime;
        } catch (const TooLarge &large) {
            answer_.ending = Ending::TooLarge;
            answer_.bytes = large.bytes;
        }
        if (!pruner_ || answer_.ending == Ending::Unbounded) return std::move(answer_);
        answer_.arcs = problem_.graph.arcs();
        answer_.bound = std::min(std::max(answer_.bound, pruner_->bound()), pruner_->found.ceiling());
        answer_.paths = pruner_->found.paths();
        if (answer_.ending == Ending::Proved) answer_.bound = answer_.paths.back().cost;
        if (simple_ && !problem_.simple && !answer_.paths.empty())
            for (Path &path : answer_.paths) ends_->straighten(path);
        return std::move(answer_);
    }

    const Problem &problem() const { return problem_; }

    // What is known beforehand: paths; of each resource the least that is used from each node on, or less;
    std::vector<Path> known;
    std::vector<Costs> need;
    Amounts price;  // that bounds well

  private:
    // Whether edges lead from the source to an end, whatever the limits.
    bool reaches() const {
        const Graph &graph = problem_.graph;
        std::vector<std::uint8_t> seen(graph.nodes, 0);
        Indices queue{graph.source};
        seen[graph.source] = 1;
        for (std::size_t i = 0; i < queue.size(); ++i) {
            const int v = queue[i];
            if (graph.ends(v)) return true;
            for (int a = graph.out[v]; a < graph.out[v + 1]; ++a)
                if (const int h = graph.head[a]; !seen[h] && !(simple_ && h == graph.source)) {
                    seen[h] = 1;
                    queue.push_back(h);
                }
        }
        return false;
    }

    // Leaves out what lies on no way from the source to an end, each arc within the limits alone.
    void keep_useful() {
        Graph &graph = problem_.graph;
        std::vector<std::uint8_t> keep(std::size_t(graph.arcs()), 1);
        for (int v = 0; v < graph.nodes; ++v)
            for (int a = graph.out[v]; a < graph.out[v + 1]; ++a) {
                const Amount *const used = problem_.moves.used(graph.move[a]);
                if (simple_ && (graph.head[a] == graph.source || graph.ends(v))) keep[a] = 0;
                for (int k = 0; k < problem_.moves.resources; ++k)
                    if (problem_.limits(k)) keep[a] &= std::uint8_t(used[k] <= problem_.upper[k]);
            }
        reduce(graph, problem_.moves, keep, clock_);
    }

    Ending search() {
        Graph &graph = problem_.graph;
        if (simple_) ends_ = std::make_unique<Ends>(problem_);
        if (!graph.shared) {  // else it was made so
            if (!reaches()) return Ending::Unreachable;
            keep_useful();
        }
        if (graph.nodes == 0) return Ending::Infeasible;
        for (int k = 0; k < problem_.moves.resources; ++k)  // where nothing limits, more than the lower limit is as good as it
            if (!problem_.limits(k))
                for (int m = 0; m < problem_.moves.count(); ++m) {
                    Amount &used = problem_.moves.use[std::size_t(m) * problem_.moves.resources + k];
                    used = std::min(used, problem_.lower[k]);
                }
        problem_.simple = simple_ && may_turn();
        pruner_ = std::make_unique<Pruner>(problem_, clock_);
        Ending ending = pruner_->begin();
        while (ending == Ending::Unbounded) {
            if (simple_) {
                limit_moves();
            } else if ((ending = without_circle()) != Ending::OutOfTime) {
                return ending;
            }
            pruner_ = std::make_unique<Pruner>(problem_, clock_);
            ending = pruner_->begin();
        }
        pruner_->know(std::move(need), price);
        for (Path &path : known) pruner_->found.offer(std::move(path));
        const bool easy = problem_.wanted == 1 && !problem_.simple && !problem_.any_lower();
        if (ending == Ending::OutOfTime && easy && !problem_.finest) {
            ending = labelled({}, {true, false, FEW_LABELS});
            if (clock_.passed()) return ending;
        }
        if (ending == Ending::OutOfTime) ending = pruner_->prune();
        if (ending != Ending::OutOfTime) return ending;
        if (problem_.wanted == 1 && !problem_.any_lower() && !pruner_->circles_pay()) problem_.simple = false;
        return set_labels();
    }

    // Whether the best paths may turn in circles, so that a path without any has to be asked for.
    bool may_turn() const {
        const Costs &cost = problem_.moves.cost;
        return !problem_.graph.sorted &&
               (problem_.wanted > 1 || problem_.any_lower() || std::any_of(cost.begin(), cost.end(), [](Cost c) { return c < 0; }));
    }

    // No more moves than there are other nodes: with that, no circle is free.
    void limit_moves() {
        Moves &moves = problem_.moves;
        const std::size_t K = std::size_t(moves.resources);
        Amounts use;
        use.reserve(std::size_t(moves.count()) * (K + 1));
        for (int m = 0; m < moves.count(); ++m) {
            use.insert(use.end(), moves.used(m), moves.used(m) + K);
            use.push_back(1);
        }
        moves.use = std::move(use);
        ++moves.resources;
        problem_.lower.push_back(0);
        problem_.upper.push_back(problem_.graph.nodes - 1);
    }

    // A circle gains for ever: Unbounded if a path comes to it; else it goes, and OutOfTime says: look again.
    Ending without_circle() {
        Graph &graph = problem_.graph;
        const Indices &circle = pruner_->circle();
        const Ending ending = passes(graph.tail[circle.front()]);
        if (ending == Ending::Proved) {
            Path turn;
            for (const int a : circle) turn.edges.push_back(problem_.moves.edge[graph.move[a]]);
            answer_.paths.push_back(std::move(turn));
            return Ending::Unbounded;
        }
        if (ending != Ending::Infeasible) return ending;
        std::vector<std::uint8_t> gone(graph.nodes, 0);  // a path that came to one of them could turn the whole circle
        for (const int a : circle) gone[graph.tail[a]] = 1;
        if (gone[graph.source]) return Ending::Infeasible;
        std::vector<std::uint8_t> keep(std::size_t(graph.arcs()));
        for (int a = 0; a < graph.arcs(); ++a) keep[a] = !gone[graph.tail[a]] && !gone[graph.head[a]];
        for (int v = 0; v < graph.nodes; ++v)
            if (gone[v]) graph.finish[v] = FAR;
        reduce(graph, problem_.moves, keep, clock_);
        return graph.nodes == 0 ? Ending::Infeasible : Ending::OutOfTime;
    }

    // Whether a path that keeps the limits visits a node: Proved, Infeasible, or nothing is known. A path changes over at
    // the node from one copy of the graph to another, where the ends are.
    Ending passes(int node) {
        const Graph &graph = problem_.graph;
        const int n = graph.nodes;
        const std::size_t K = std::size_t(problem_.moves.resources);
        Problem twice;
        Graph &both = twice.graph;
        both.nodes = 2 * n;
        both.source = graph.source;
        both.sorted = false;
        twice.moves.resources = int(K);
        const auto add = [&](int head, const Amount *used) {
            both.head.push_back(head);
            both.move.push_back(std::int32_t(both.move.size()));
            twice.moves.edge.push_back(both.move.back());
            if (used) twice.moves.use.insert(twice.moves.use.end(), used, used + K);
            else twice.moves.use.insert(twice.moves.use.end(), K, 0);
        };
        both.out.push_back(0);
        for (int copy = 0; copy < 2; ++copy)
            for (int v = 0; v < n; ++v) {
                for (int a = graph.out[v]; a < graph.out[v + 1]; ++a)
                    add(copy * n + graph.head[a], problem_.moves.used(graph.move[a]));
                if (copy == 0 && v == node) add(n + v, nullptr);
                both.out.push_back(std::int32_t(both.head.size()));
            }
        twice.moves.cost.assign(both.head.size(), 0);
        both.arrive.assign(2 * n, 0);
        both.finish.assign(2 * n, FAR);
        for (int v = 0; v < n; ++v)
            if (graph.ends(v)) both.finish[n + v] = 0;
        both.name.resize(2 * n);
        std::iota(both.name.begin(), both.name.end(), 0);
        both.index();
        twice.lower = problem_.lower;
        twice.upper = problem_.upper;
        twice.threads = problem_.threads;
        twice.enough = 0;
        const Answer answer = Solve(std::move(twice), clock_).run();
        return answer.paths.empty() ? answer.ending : Ending::Proved;
    }

    // Sets labels; where paths turn in circles that must not, again with the nodes remembered that they come back to.
    Ending set_labels() {
        const bool ordered = problem_.ties && problem_.wanted > 1;
        if (problem_.finest) {  // early paths are what takes time: where some labels are no proof, a beam looks for them
            const bool many = problem_.graph.arcs() > MANY_ARCS && !ordered;
            std::size_t width = many ? 64 : 0, most = ordered ? 65536 : 2048;
            bool better = false;  // whether the beam has just found a path: what that leaves is most often soon searched
            for (; most < (std::size_t{1} << 40); most *= 8, width = std::max<std::size_t>(64 * problem_.wanted, 8 * width)) {
                const std::size_t labels = better ? std::max(most, 4 * std::size_t(problem_.graph.arcs())) : most;
                Ending ending = labelled({}, {false, ordered, labels, better ? 0 : width});
                better = last_ == 0;
                if (ending != Ending::OutOfTime || clock_.passed()) return ending;
                if ((ending = pruner_->prune()) != Ending::OutOfTime) return ending;
            }
        }
        const std::vector<Path> before = pruner_->found.paths();
        Indices critical;
        for (;;) {
            const Ending ending = labelled(critical, {false, ordered});
            if (!problem_.simple) return ending;
            const std::size_t known_nodes = critical.size();
            for (const Path &path : pruner_->found.paths()) ends_->repeats(path, critical);
            std::sort(critical.begin(), critical.end());
            critical.erase(std::unique(critical.begin(), critical.end()), critical.end());
            if (critical.size() == known_nodes) return ending;
            pruner_->found.paths().clear();
            for (const Path &path : before) pruner_->found.offer(path);
            if (ending != Ending::Proved && ending != Ending::Infeasible) return ending;
        }
    }

    Ending labelled(const Indices &critical, const Manner &manner) {
        Amount most = 0;
        for (int k = 0; k < problem_.moves.resources; ++k)
            most = std::max(most, problem_.limits(k) ? problem_.upper[k] : problem_.lower[k]);
        return most < (Amount{1} << 29) ? labelled_in<std::int32_t>(critical, manner) : labelled_in<Amount>(critical, manner);
    }

    template <class Use> Ending labelled_in(const Indices &critical, const Manner &manner) {
        Labels<Use> labels(problem_, *pruner_, critical, manner, clock_);
        Ending ending = Ending::OutOfTime;
        try {
            if (labels.run()) ending = Ending::Proved;
        } catch (const Late &) {  // what was found so far may still turn in circles: that is for the caller to see
        } catch (const TooLarge &large) {
            answer_.bytes = large.bytes;
            ending = Ending::TooLarge;
        }
        if (!labels.write_out()) ending = Ending::TooLarge;
        last_ = labels.made();
        answer_.labels += last_;
        answer_.bound = std::max(answer_.bound, labels.bound());
        if (labels.too_wide()) ending = Ending::TooWide;
        return ending == Ending::Proved && pruner_->found.paths().empty() ? Ending::Infeasible : ending;
    }

    // Looks for the smallest edges among the paths of the least cost.
    void order() {
        const Cost least = pruner_->found.ceiling();
        pruner_->measure();
        const std::size_t patience = 50000 + 4 * last_;  // moves take less than labels, of which those that keep ties are no fewer
        if (pruner_->views.empty()) Labels<Amount>(problem_, *pruner_, {}, {}, clock_);  // makes the first views
        if (const auto edges = smallest_edges(problem_, *pruner_, least, patience, clock_)) {
            pruner_->found.paths().front().edges = *edges;
            return;
        }
        answer_.ordered = !clock_.passed() && labelled({}, {false, true, std::size_t(-1)}) == Ending::Proved;
    }

    Problem problem_;
    Clock &clock_;
    bool simple_;
    std::unique_ptr<Ends> ends_;
    std::unique_ptr<Pruner> pruner_;
    Answer answer_;
    std::size_t last_ = 0;  // labels of the last search
};

}  // namespace tape
