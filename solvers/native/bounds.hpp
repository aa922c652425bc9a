// Pruning before any label is made: bounds come from passes alone - of each resource (windows), of the cost, of the cost
// plus what is paid for use (the Lagrangian dual) - and so do the first paths.
#pragma once

#include <memory>

#include "master.hpp"
#include "prices.hpp"

namespace tape {

// Windows of a graph of more arcs than this take longer than the paths that make it smaller.
constexpr int MANY_TO_WINDOW = 160'000;

// Finds paths early, prices that bound well, and arcs that no path of interest uses.
class Pruner : public Prices {
  public:
    Pruner(Problem &problem, Clock &clock) : Prices(problem, clock), found(problem) {}

    Cost bound() const { return bound_; }

    // Whether the path that was found is that of the smallest edges among the best.
    bool smallest() const { return smallest_; }

    // The greatest weight of a path of interest at these prices.
    Cost limit(const Weights &weights) const {
        const Cost most = found.interest(problem_.ties);
        return most >= FAR - 1 ? FAR / 2 - 1 : std::min(unit_ * most + weights.payment, FAR / 2 - 1);
    }

    // Prunes until nothing much goes any more, after `begin`. Proved: what was `found` is best; Infeasible; OutOfTime:
    // labels decide. A time-expanded graph is pruned by prices first: it was made within the windows.
    Ending prune() {
        if (problem_.finest) {
            const Cost most = found.interest(problem_.ties);
            if (std::exchange(pruned_, most) == most) return Ending::OutOfTime;  // nothing new is known
            if (const Ending ending = look(); ending != Ending::OutOfTime || limited_.empty()) return ending;
            if (const Ending ending = dual(6 + 4 * K_); ending != Ending::OutOfTime) return ending;
            if (problem_.graph.arcs() > MANY_TO_WINDOW) return Ending::OutOfTime;  // a better path comes first
        }
        for (int round = 0; round < 6; ++round) {
            const int before = problem_.graph.arcs();
            if (const Ending ending = windows(); ending != Ending::OutOfTime) return ending;
            if (limited_.empty() || (problem_.finest && problem_.graph.arcs() > 0.9 * before)) break;
            if (const Ending ending = dual(round == 0 ? 20 + 4 * K_ : 12); ending != Ending::OutOfTime) return ending;
            if (problem_.graph.arcs() > 0.8 * before || problem_.graph.arcs() < 50) break;
        }
        return Ending::OutOfTime;
    }

    // Of each limited resource, the least that is used from each node on, or less; and prices that may bound well.
    void know(std::vector<Costs> need, const Amounts &price) {
        need_ = std::move(need);
        if (price.size() == best_.size()) start_ = price;
    }

    Found found;
    std::vector<View> views;  // carried along when arcs go

  private:
    // Calls `what(tail, arc)` for all arcs.
    template <class What> void each_arc(const What &what) const {
        const Graph &graph = problem_.graph;
        for (int v = 0; v < graph.nodes; ++v) {
            clock_.tick(std::size_t(1 + graph.out[v + 1] - graph.out[v]));
            for (int a = graph.out[v]; a < graph.out[v + 1]; ++a) what(v, a);
        }
    }

    // Drops from `keep` the arcs through which no path weighs as little as `most`; how many are gone by now.
    int drop(const Weights &weights, const Tree &there, const Tree &back, Cost most, std::vector<std::uint8_t> &keep) const {
        const Graph &graph = problem_.graph;
        int gone = 0;
        each_arc([&](int v, int a) {
            keep[a] &= std::uint8_t(there.far[v] + weights.move[graph.move[a]] + back.far[graph.head[a]] <= most);
            gone += !keep[a];
        });
        return gone;
    }

    // Resource windows: arcs through which even the thriftiest path breaks a limit go, until few do.
    Ending windows() {
        const int all = int(limited_.size()) + 1, count = all + (all > 2);
        const bool chances = !problem_.chances.empty();
        for (int round = 0; round < 8; ++round) {
            const Graph &graph = problem_.graph;
            const int m = graph.arcs();
            std::vector<Tree> there(count), back(count);
            std::vector<Weights> weights(count);
            const int threads = m < MANY_ARCS ? 1 : problem_.threads;
            weights[0] = priced(at_ = base_);
            const auto grow_back = [&](int i, Pulse pulse) {
                Heap heap;
                if (i > 0) weights[i] = i < all ? using_only(limited_[i - 1]) : priced(fair(), false);
                to_end(graph, weights[i], back[i], heap, pulse);
            };
            const auto bar = [&](int i) { return i < all ? problem_.upper[limited_[i - 1]] : weights[i].payment; };
            // The way back first: it shows whether there is any path, and often the best one.
            const int first = threads > 1 ? count : 1;
            side_by_side(first, threads, clock_, grow_back);
            if (graph.nodes == 0 || back[0].far[graph.source] >= FAR / 2) return ended();
            if (const Ending ending = look(weights[0], back[0]); ending != Ending::OutOfTime) return ending;
            side_by_side(count - first, threads, clock_, [&](int i, Pulse pulse) { grow_back(first + i, pulse); });
            for (int i = 1; i < count; ++i)
                if (back[i].far[graph.source] > bar(i)) return ended();
            need_.clear();
            for (int i = 1; i < all; ++i) need_.push_back(back[i].far);
            for (int i = 1; i < count; ++i) try_path(dive(weights[i], back[i], false));
            side_by_side(count, threads, clock_, [&](int i, Pulse pulse) {
                Heap heap;
                from_source(graph, weights[i], there[i], heap, pulse);
            });
            std::vector<std::uint8_t> keep(m, 1);
            int gone = 0;
            const Cost most = limit(weights[0]);
            for (int i = 0; i < count; ++i) gone = drop(weights[i], there[i], back[i], i == 0 ? most : bar(i), keep);
            if (chances) {
                Amounts used(K_, 0), rest(K_, 0);
                each_arc([&](int v, int a) {
                    for (int i = 1; keep[a] && i < all; ++i) {
                        const int k = limited_[i - 1];
                        used[k] = there[i].far[v] + weights[i].move[graph.move[a]];
                        rest[k] = back[i].far[graph.head[a]];
                    }
                    if (keep[a] && !problem_.keeps_chances(used.data(), rest.data())) {
                        keep[a] = 0;
                        ++gone;
                    }
                });
            }
            if (gone == 0) break;
            shrink(keep);
            if (gone < 0.05 * m) break;
        }
        return problem_.graph.nodes == 0 ? ended() : Ending::OutOfTime;
    }

    Ending look() {
        if (problem_.graph.nodes == 0) return ended();
        const Weights weights = priced(at_ = base_);
        Tree back;
        Heap heap;
        to_end(problem_.graph, weights, back, heap, Pulse(clock_));
        return back.far[problem_.graph.source] >= FAR / 2 ? ended() : look(weights, back);
    }

    // The path that the cost alone suggests. Where there are no circles and it keeps the limits, it is the best one, and of
    // equally good ones that of the smallest edges.
    Ending look(const Weights &weights, const Tree &back) {
        raise(weights, back);
        if (problem_.wanted == 1 || problem_.ties) {
            Dive first = dive(weights, back, false);
            smallest_ = first.keeps && problem_.graph.sorted && problem_.wanted == 1;
            if (first.keeps) found.offer(std::move(first.path), true);
        }
        if (proved()) return Ending::Proved;
        if (problem_.graph.sorted && problem_.ceiling == FAR) bound_ceiling();
        return bound_ >= problem_.ceiling ? Ending::Infeasible : Ending::OutOfTime;
    }

    // No path costs more than the dearest one: what would have to is on none that keeps the limits.
    void bound_ceiling() {
        const Graph &graph = problem_.graph;
        Costs most(graph.nodes);
        for (int v = graph.nodes; v-- > 0;) {
            clock_.tick(std::size_t(1 + graph.out[v + 1] - graph.out[v]));
            Cost best = graph.ends(v) ? graph.finish[v] : -FAR;
            for (int a = graph.out[v]; a < graph.out[v + 1]; ++a)
                best = std::max(best, most[graph.head[a]] + problem_.moves.cost[graph.move[a]]);
            most[v] = std::max(best, -FAR) + graph.arrive[v];
        }
        problem_.ceiling = most[graph.source] + 1;
    }

    // Nothing is left: what was found is best, if anything was.
    Ending ended() const { return found.paths().empty() ? Ending::Infeasible : Ending::Proved; }

    bool proved() const {
        if (!found.full()) return false;
        const Cost ceiling = found.ceiling() + (problem_.ties && problem_.wanted > 1);
        return bound_ >= ceiling || ceiling <= problem_.enough;
    }

    // A bound on the cost of all paths but those found, from the way back at these prices.
    void raise(const Weights &weights, const Tree &back) {
        const Cost over = back.far[problem_.graph.source] - weights.payment;
        const Cost least = over >= 0 ? (over + unit_ - 1) / unit_ : -(-over / unit_);
        if (least <= bound_) return;
        bound_ = least;
        best_ = at_;
    }

    // Whether the bound is above what any path without circles costs, where circles are of no use.
    bool beyond_all() const {
        return !problem_.finest && !circles_pay() && !problem_.any_lower() && found.paths().empty() && bound_ > largest_;
    }

    void try_path(Dive seen) {
        // Without `ties` labels find each of several paths once; with it, paths that come twice are known by their edges.
        if (seen.keeps && (problem_.wanted == 1 || problem_.ties)) found.offer(std::move(seen.path), problem_.wanted > 1);
    }

    // Takes the arcs away that are not kept.
    void shrink(const std::vector<std::uint8_t> &keep) {
        const Indices old = reduce(problem_.graph, problem_.moves, keep, clock_);
        if (!potential_.empty()) carry(potential_, old);
        for (Costs &one : need_) carry(one, old);
        for (View &view : views) carry(view.ahead, old);
        reopen();
    }

    // Cost and use of the path to each node of a tree, from its root; entries of nodes that are not reached are not set.
    template <bool Forward> void sums(const Tree &tree, Costs &cost, Amounts &used) const {
        const Graph &graph = problem_.graph;
        cost.resize(graph.nodes);
        used.resize(std::size_t(graph.nodes) * K_);
        for (const int v : tree.settled) {
            const int a = tree.arc[v];
            Amount *const mine = used.data() + std::size_t(v) * K_;
            if (a < 0) {
                cost[v] = 0;
                std::fill_n(mine, K_, 0);
                continue;
            }
            const int before = Forward ? graph.tail[a] : graph.head[a];
            cost[v] = cost[before] + problem_.moves.cost[graph.move[a]];
            const Amount *const theirs = used.data() + std::size_t(before) * K_, *const more = problem_.moves.used(graph.move[a]);
            for (int k = 0; k < K_; ++k) mine[k] = theirs[k] + more[k];
        }
    }

    // With circles: offers the best of the paths there by one tree, along an arc, and back by another.
    void try_arcs(const Tree &there, const Tree &back) {
        if (problem_.wanted > 1 || problem_.simple) return;
        const Graph &graph = problem_.graph;
        sums<true>(there, cost_there_, used_there_);
        sums<false>(back, cost_back_, used_back_);
        int chosen = -1;
        Cost least = found.ceiling();
        Amounts used(K_);
        each_arc([&](int u, int a) {
            const int v = graph.head[a];
            if (there.far[u] >= FAR / 2 || back.far[v] >= FAR / 2) return;
            const Cost cost = cost_there_[u] + problem_.moves.cost[graph.move[a]] + cost_back_[v];
            if (cost >= least) return;
            const Amount *const more = problem_.moves.used(graph.move[a]);
            for (int k = 0; k < K_; ++k)
                used[k] = used_there_[std::size_t(u) * K_ + k] + more[k] + used_back_[std::size_t(v) * K_ + k];
            if (!problem_.keeps(used.data())) return;
            least = cost;
            chosen = a;
        });
        if (chosen < 0) return;
        Path path;
        path.cost = least;
        const auto edge = [&](int a) { return problem_.moves.edge[graph.move[a]]; };
        for (int v = graph.tail[chosen]; there.arc[v] >= 0; v = graph.tail[there.arc[v]]) path.edges.push_back(edge(there.arc[v]));
        std::reverse(path.edges.begin(), path.edges.end());
        path.edges.push_back(edge(chosen));
        for (int v = graph.head[chosen]; back.arc[v] >= 0; v = graph.head[back.arc[v]]) path.edges.push_back(edge(back.arc[v]));
        found.offer(std::move(path));
    }

    // Cutting planes for the best prices (Kelley, with an in-out step); each better bound takes arcs away.
    Ending dual(int passes) {
        const double scale = std::max<double>(1, std::abs(double(bound_))) * double(unit_);
        Cuts cuts(scale, 1e6, limited_, problem_.upper, base_, most_);
        Heap heap, other;
        Amounts price = start_.empty() ? best_ : std::exchange(start_, {});
        std::vector<std::uint8_t> keep(std::size_t(problem_.graph.arcs()), 1);
        Cost before = -FAR;
        bool improved = false;
        Tree back, there;
        for (int pass = 0; pass < passes; ++pass) {
            const Graph &graph = problem_.graph;
            const int m = graph.arcs(), threads = m < MANY_ARCS ? 1 : problem_.threads;
            const Weights weights = priced(price);
            at_ = price;
            // Both ways at once where there is a thread for each; else the way there only where the bound is better.
            side_by_side(threads > 1 ? 2 : 1, threads, clock_, [&](int way, Pulse pulse) {
                if (way == 0) to_end(graph, weights, back, heap, pulse);
                else from_source(graph, weights, there, other, pulse);
            });
            if (graph.nodes == 0 || back.far[graph.source] >= FAR / 2) return ended();
            const Cost value = back.far[graph.source] - weights.payment;
            Dive seen = dive(weights, back, false);
            cuts.add(double(unit_) * double(seen.path.cost), seen.used, problem_.upper);
            if (!seen.keeps && graph.sorted && need_.size() == limited_.size()) try_path(dive(weights, back, true));
            try_path(std::move(seen));
            raise(weights, back);
            if (proved()) return Ending::Proved;
            if (beyond_all() || bound_ >= problem_.ceiling) return Ending::Infeasible;
            improved = value > before;
            if (improved || pass == 0) {
                before = std::max(before, value);
                if (threads <= 1) from_source(graph, weights, there, heap, Pulse(clock_));
                if (!graph.sorted) {
                    try_arcs(there, back);
                    if (proved()) return Ending::Proved;
                }
                if (drop(weights, there, back, limit(weights), keep) > 0.3 * m) {
                    shrink(keep);
                    keep.assign(std::size_t(problem_.graph.arcs()), 1);
                    if (problem_.graph.empty()) return ended();
                }
            }
            const double gap = found.ceiling() < FAR ? double(unit_) * double(found.ceiling()) - double(before) : scale;
            if (cuts.aim() - double(before) <= std::max({0.02 * double(unit_), 1e-9 * scale, 0.01 * gap})) break;
            cuts.next(best_, improved, price);
        }
        if (std::find(keep.begin(), keep.end(), 0) != keep.end()) shrink(keep);
        return problem_.graph.empty() ? ended() : Ending::OutOfTime;
    }

    Cost bound_ = -FAR;
    Cost pruned_ = 2 * FAR;  // what was of interest when it was pruned last
    bool smallest_ = false;
    Amounts at_, start_;
    Costs cost_there_, cost_back_;
    Amounts used_there_, used_back_;
};

}  // namespace tape
