// Static pruning of a resource-constrained shortest path problem: what bounds show to be useless goes before any label
// is made. Bounds come from shortest paths alone: of each resource (windows), of the cost, of cost plus priced use.
#pragma once

#include <cmath>
#include <memory>

#include "master.hpp"
#include "rcsp_potentials.hpp"
#include "rcsp_problem.hpp"

namespace tape::rcsp {

// What a unit of each resource costs, and the weights of arcs at these prices: `unit` times the cost, and the payments.
// Potentials keep the weights from being negative; they cancel along a path but for its ends.
struct Prices {
    Amounts price;
    std::vector<Score> weight;
    Score payment = 0;  // for all limits
};

// Finds paths early, prices that bound well, and arcs that no path of interest uses.
class Pruner {
  public:
    Pruner(Problem &problem, Clock &clock) : problem_(problem), clock_(clock), K_(problem.graph.resources) {}

    Graph &graph() { return problem_.graph; }
    std::vector<Path> &found() { return found_; }
    const std::vector<Score> &potential() const { return potential_; }
    const Amounts &base() const { return base_; }
    const Amounts &best() const { return best_; }
    Score unit() const { return unit_; }
    Score bound() const { return bound_; }
    const Indices &circle() const { return circle_; }

    // A path of this cost or more is of no interest; FAR where any is of interest.
    Score ceiling() const { return found_.size() < problem_.wanted ? problem_.ceiling : found_.back().cost; }

    // Takes a path in where it is among the best; paths come in once each.
    void offer(Path path) {
        if (path.cost >= ceiling()) return;
        const auto place = std::find_if(found_.begin(), found_.end(), [&](const Path &other) { return path.cost < other.cost; });
        found_.insert(place, std::move(path));
        if (found_.size() > problem_.wanted) found_.pop_back();
    }
    void forget() { found_.clear(); }

    // Whether some circle pays.
    bool circles_pay() const {
        return std::any_of(base_.begin(), base_.end(), [](Amount price) { return price > 0; });
    }

    // The weights of the arcs at these prices.
    Prices priced(const Amounts &price) const {
        const Graph &graph = problem_.graph;
        const int m = graph.arcs();
        Prices prices{price, std::vector<Score>(std::size_t(m)), 0};
        for (int a = 0; a < m; ++a) prices.weight[a] = unit_ * graph.cost[a];
        for (int k = 0; k < K_; ++k) {
            if (price[k] == 0) continue;
            prices.payment += price[k] * problem_.upper[k];
            const Amount *used = graph.used(k);
            for (int a = 0; a < m; ++a) prices.weight[a] += price[k] * used[a];
        }
        if (!potential_.empty())
            for (int a = 0; a < m; ++a) prices.weight[a] += potential_[graph.tail[a]] - potential_[graph.head[a]];
        return prices;
    }

    // The weights of use alone at these prices.
    Prices paid(const Amounts &price) const {
        const Graph &graph = problem_.graph;
        Prices prices{price, std::vector<Score>(graph.tail.size(), 0), 0};
        for (const int k : limited_) {
            if (price[k] == 0) continue;
            prices.payment += price[k] * problem_.upper[k];
            const Amount *used = graph.used(k);
            for (int a = 0; a < graph.arcs(); ++a) prices.weight[a] += price[k] * used[a];
        }
        return prices;
    }

    // How much of its limit a resource leaves to the thriftiest path.
    double leeway(int k) const {
        return leeway_.empty() || problem_.upper[k] == 0 ? 1 : double(leeway_[k]) / double(problem_.upper[k]);
    }

    // The most that a unit of a resource may cost, for all sums to stay within integers.
    Amount most(int k) const { return most_[k]; }

    // Prices at which all limits cost the same.
    Amounts fair() const {
        Amounts price(K_, 0);
        for (const int k : limited_)
            price[k] = std::min<Amount>(most_[k], (Amount{1} << 40) / std::max<Amount>(1, problem_.upper[k]));
        return price;
    }

    // What the potentials add to the weight of every path.
    Score offset() const { return potential_.empty() ? 0 : potential_[graph_().source] - potential_[graph_().target]; }

    // The greatest weight of a path of interest at these prices; FAR while anything is.
    Score limit(const Prices &prices) const {
        const Score most = ceiling();
        return most == FAR ? FAR : unit_ * (most - 1) + prices.payment + offset();
    }

    // Scale, prices and potentials at which no weight is negative; the path of least cost.
    Ending begin() {
        Graph &graph = problem_.graph;
        Score largest = 1;
        bool negative = false;
        for (const Score cost : graph.cost) {
            largest = std::max(largest, std::abs(cost));
            negative |= cost < 0;
        }
        largest_ = largest * graph.nodes;
        most_.assign(K_, 0);
        Amount most_use = 1;
        for (int k = 0; k < K_; ++k)
            if (problem_.limits(k)) {
                limited_.push_back(k);
                most_use = std::max(most_use, problem_.upper[k]);
            }
        for (const int k : limited_) most_[k] = LARGEST_WEIGHT / Amount(limited_.size()) / (problem_.upper[k] + 1);
        base_.assign(K_, 0);
        if (negative)
            if (const Ending ending = make_potentials(largest); ending != Ending::OutOfTime) return ending;
        double all = double(largest) * graph.nodes;
        for (const Score one : potential_) all = std::max(all, std::abs(double(one)));
        // The more units, the finer are prices; what is left to LARGEST_WEIGHT is how high they can be.
        const double fine = std::max(65536.0, 1024.0 * double(most_use) / double(largest));
        Score bits = 1;
        while (double(bits) < fine && double(bits) * 2 * all < double(LARGEST_WEIGHT) / 16 &&
               std::all_of(limited_.begin(), limited_.end(), [&](int k) { return base_[k] * bits * 2 <= most_[k]; }))
            bits *= 2;
        unit_ = bits;
        for (const int k : limited_) base_[k] *= bits;
        for (Score &one : potential_) one *= bits;
        best_ = base_;
        return Ending::OutOfTime;
    }

    // Prunes until nothing much goes any more, after `begin`. Proved: what was `found` is best; Infeasible; OutOfTime:
    // labels decide.
    Ending prune() {
        for (int round = 0; round < 6; ++round) {
            const int before = graph_().arcs();
            if (const Ending ending = windows(); ending != Ending::OutOfTime) return ending;
            if (limited_.empty()) break;
            if (const Ending ending = dual(round == 0 ? 20 + 4 * K_ : 12); ending != Ending::OutOfTime) return ending;
            if (graph_().arcs() > 0.8 * before || graph_().arcs() < 50) break;
        }
        return Ending::OutOfTime;
    }

  private:
    const Graph &graph_() const { return problem_.graph; }

    // Prices from which on no circle has a negative weight, the least of a doubling sequence, and the potentials then.
    Ending make_potentials(Score largest) {
        Graph &graph = problem_.graph;
        for (double share = 0;; share = share == 0 ? 1e-6 : share * 4) {
            bool more = false;
            for (const int k : limited_) {
                const double wish = share * double(largest) * graph.nodes;
                base_[k] = Amount(std::min(std::ceil(wish), double(most_[k]) / 2));
                more |= double(base_[k]) < wish + 1 && base_[k] < most_[k] / 2 && share < 1;
            }
            potential_.clear();
            unit_ = 1;
            const Prices prices = priced(base_);
            if (settle(graph, prices.weight, potential_, circle_, clock_)) return Ending::OutOfTime;
            if (!more) break;
        }
        // A circle that pays at any price uses nothing; or numbers are too large for these integers.
        std::vector<Score> weight(graph.cost);
        for (const int k : limited_)
            for (int a = 0; a < graph.arcs(); ++a)
                if (graph.used(k)[a] > 0) weight[a] = largest * graph.nodes + 1;
        if (settle(graph, weight, potential_, circle_, clock_)) return Ending::TooWide;
        return Ending::Unbounded;
    }

    // Resource windows: arcs through which even the thriftiest path breaks a limit go, until few do.
    Ending windows() {
        for (int round = 0; round < 8; ++round) {
            clock_.tick(std::size_t(graph_().arcs()) * (K_ + 1));
            const Graph &graph = problem_.graph;
            const int m = graph.arcs(), all = int(limited_.size()) + 1, count = all + (all > 2);
            std::vector<Tree> there(count), back(count);
            std::vector<Prices> weights(count);
            const int threads = m < MANY_ARCS ? 1 : problem_.threads;
            const Prices cost = priced(base_), sum = paid(fair());  // what all limits allow together, too
            const auto weight = [&](int i) -> const Score * {
                return i == 0 ? cost.weight.data() : i < all ? graph.used(limited_[i - 1]) : sum.weight.data();
            };
            const auto bar = [&](int i) { return i < all ? problem_.upper[limited_[i - 1]] : sum.payment; };
            // The way back first: it shows whether there is any path, and often the best one.
            side_by_side(count, threads, clock_, [&](int i, Pulse pulse) {
                Heap heap;
                grow<false>(graph, weight(i), back[i], heap, pulse);
            });
            if (back[0].far[graph.source] >= FAR / 2) return ended();
            for (int i = 1; i < count; ++i)
                if (back[i].far[graph.source] > bar(i)) return ended();
            leeway_.assign(K_, 0);
            for (int i = 1; i < all; ++i) leeway_[limited_[i - 1]] = bar(i) - back[i].far[graph.source];
            for (int i = 0; i < count; ++i) try_path(back[i]);
            raise(cost, back[0]);
            if (proved()) return Ending::Proved;
            if (bound_ >= problem_.ceiling) return Ending::Infeasible;
            side_by_side(count, threads, clock_, [&](int i, Pulse pulse) {
                Heap heap;
                grow<true>(graph, weight(i), there[i], heap, pulse);
            });
            std::vector<char> keep(m, 1);
            int gone = 0;
            const Score most = limit(cost);
            for (int i = 0; i < count; ++i) {
                const Score *const used = weight(i), least = std::min(i == 0 ? most : bar(i), FAR / 2);
                const Score *const from = there[i].far.data(), *const to = back[i].far.data();
                for (int a = 0; a < m; ++a)
                    keep[a] &= char(from[graph.tail[a]] + used[a] + to[graph.head[a]] <= least);
            }
            for (int a = 0; a < m; ++a) gone += !keep[a];
            if (gone == 0) break;
            shrink(keep);
            if (gone < 0.05 * m) break;
        }
        return Ending::OutOfTime;
    }

    // Nothing is left: what was found is best, if anything was.
    Ending ended() const { return found_.empty() ? Ending::Infeasible : Ending::Proved; }

    bool nothing_left() const { return graph_().arcs() == 0 && graph_().source != graph_().target; }

    bool proved() const {
        return found_.size() == problem_.wanted && (bound_ >= ceiling() || ceiling() <= problem_.enough);
    }

    // A bound on the cost of all paths but those found, from the way back at these prices.
    void raise(const Prices &prices, const Tree &back) {
        const Score over = back.far[graph_().source] - offset() - prices.payment;
        const Score least = over >= 0 ? (over + unit_ - 1) / unit_ : -(-over / unit_);
        if (least > bound_) {
            bound_ = least;
            best_ = prices.price;
        }
    }

    // Whether the bound is above what any path without circles costs, where circles are of no use.
    bool beyond_all() const { return !circles_pay() && !problem_.any_lower() && found_.empty() && bound_ > largest_; }

    // Offers the path from the source along a tree of the way back.
    void try_path(const Tree &back) {
        if (problem_.wanted > 1) return;  // labels find each path once
        const Graph &graph = problem_.graph;
        Path path;
        Amounts used(K_, 0);
        for (int v = graph.source; v != graph.target;) {
            const int a = back.arc[v];
            if (a < 0) return;
            path.cost += graph.cost[a];
            for (int k = 0; k < K_; ++k) used[k] += graph.used(k)[a];
            path.ids.push_back(graph.id[a]);
            v = graph.head[a];
        }
        for (int k = 0; k < K_; ++k)
            if (used[k] > problem_.upper[k] || used[k] < problem_.lower[k]) return;
        offer(std::move(path));
    }

    // Takes the arcs away that are not kept.
    void shrink(const std::vector<char> &keep) {
        Indices origin;
        Graph less = kept_of(problem_.graph, keep, origin);
        if (!potential_.empty()) {
            std::vector<Score> potential;
            for (const int v : origin) potential.push_back(potential_[v]);
            potential_ = std::move(potential);
        }
        problem_.graph = std::move(less);
    }

    // Cost and use of the path to each node of a tree, from its root; entries of nodes that are not reached are not set.
    template <bool Forward> void sums(const Tree &tree, std::vector<Score> &cost, Amounts &used) const {
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
            cost[v] = cost[before] + graph.cost[a];
            const Amount *const theirs = used.data() + std::size_t(before) * K_;
            for (int k = 0; k < K_; ++k) mine[k] = theirs[k] + graph.used(k)[a];
        }
    }

    // Offers the best of the paths there by one tree, along an arc, and back by another.
    void try_arcs(const Tree &there, const Tree &back) {
        if (problem_.wanted > 1 || problem_.simple) return;
        const Graph &graph = problem_.graph;
        sums<true>(there, cost_there_, used_there_);
        sums<false>(back, cost_back_, used_back_);
        int chosen = -1;
        Score least = ceiling();
        for (int a = 0; a < graph.arcs(); ++a) {
            const int u = graph.tail[a], v = graph.head[a];
            if (there.far[u] >= FAR / 2 || back.far[v] >= FAR / 2) continue;
            const Score cost = cost_there_[u] + graph.cost[a] + cost_back_[v];
            if (cost >= least) continue;
            const Amount *const one = used_there_.data() + std::size_t(u) * K_, *const two = used_back_.data() + std::size_t(v) * K_;
            bool keeps = true;
            for (int k = 0; k < K_ && keeps; ++k) {
                const Amount used = one[k] + graph.used(k)[a] + two[k];
                keeps = used <= problem_.upper[k] && used >= problem_.lower[k];
            }
            if (!keeps) continue;
            least = cost;
            chosen = a;
        }
        if (chosen < 0) return;
        Path path;
        path.cost = least;
        for (int v = graph.tail[chosen]; there.arc[v] >= 0; v = graph.tail[there.arc[v]]) path.ids.push_back(graph.id[there.arc[v]]);
        std::reverse(path.ids.begin(), path.ids.end());
        path.ids.push_back(graph.id[chosen]);
        for (int v = graph.head[chosen]; back.arc[v] >= 0; v = graph.head[back.arc[v]]) path.ids.push_back(graph.id[back.arc[v]]);
        offer(std::move(path));
    }

    // Cutting planes for the best prices; each better bound takes arcs away.
    Ending dual(int passes) {
        const int L = int(limited_.size());
        const double scale = std::max<double>(1, std::abs(double(bound_)));
        std::vector<double> each(L), caps(L), slack(L), wish;
        for (int i = 0; i < L; ++i) {  // the price, over that of the base, of a unit at price 1 for the whole limit
            each[i] = scale * double(unit_) / double(std::max<Amount>(1, problem_.upper[limited_[i]]));
            caps[i] = std::min(1e6, double(most_[limited_[i]] - base_[limited_[i]]) / each[i]);
        }
        Master master(L, caps);
        Heap heap;
        Amounts price = best_;
        std::vector<char> keep(std::size_t(graph_().arcs()), 1);
        Score before = -FAR;
        bool improved = false;
        Tree back, there;
        for (int pass = 0; pass < passes; ++pass) {
            clock_.tick(std::size_t(graph_().arcs()) * 2);
            const Graph &graph = problem_.graph;
            const int m = graph.arcs(), threads = m < MANY_ARCS ? 1 : problem_.threads;
            Prices prices = priced(price);
            // Both ways at once where there is a thread for each; else the way there only where the bound is better.
            Heap other;
            side_by_side(threads > 1 ? 2 : 1, threads, clock_, [&](int way, Pulse pulse) {
                if (way == 0) grow<false>(graph, prices.weight.data(), back, heap, pulse);
                else grow<true>(graph, prices.weight.data(), there, other, pulse);
            });
            if (back.far[graph.source] >= FAR / 2) return ended();
            const Score value = back.far[graph.source] - prices.payment;
            const double cost = suggestion(back, slack);  // before the tree's arcs may go
            try_path(back);
            raise(prices, back);
            if (proved()) return Ending::Proved;
            if (beyond_all() || bound_ >= problem_.ceiling) return Ending::Infeasible;
            improved = value > before;
            if (improved || pass == 0) {
                before = std::max(before, value);
                if (threads <= 1) grow<true>(graph, prices.weight.data(), there, heap, Pulse(clock_));
                try_arcs(there, back);
                if (proved()) return Ending::Proved;
                const Score most = std::min(limit(prices), FAR / 2);
                int gone = 0;
                for (int a = 0; a < m; ++a) {
                    keep[a] &= char(there.far[graph.tail[a]] + prices.weight[a] + back.far[graph.head[a]] <= most);
                    gone += !keep[a];
                }
                if (gone > 0.3 * m) {
                    shrink(keep);
                    keep.assign(std::size_t(graph_().arcs()), 1);
                    if (nothing_left()) return ended();
                }
            }
            master.add(-cost / scale, slack);
            const double best = -master.solve(wish) * scale;
            const double now = double(before - offset()) / double(unit_);
            const double gap = ceiling() < FAR ? double(ceiling()) - now : scale;
            if (best - now <= std::max({0.02, 1e-9 * scale, 0.01 * gap})) break;
            const double part = L == 1 || !improved ? 1.0 : 0.6;
            for (int i = 0; i < L; ++i) {
                const int k = limited_[i];
                const double here = double(best_[k] - base_[k]), aim = wish[i] * each[i];
                price[k] = base_[k] + std::clamp<Amount>(Amount(std::llround(here + part * (aim - here))), 0, most_[k] - base_[k]);
            }
        }
        if (std::find(keep.begin(), keep.end(), 0) != keep.end()) shrink(keep);
        return nothing_left() ? ended() : Ending::OutOfTime;
    }

    // The path that a tree suggests: its cost over the limits at base prices, and what it leaves of each limit.
    double suggestion(const Tree &back, std::vector<double> &slack) const {
        const Graph &graph = problem_.graph;
        Score sum = 0;
        Amounts used(K_, 0);
        for (int v = graph.source; v != graph.target; v = graph.head[back.arc[v]]) {
            sum += graph.cost[back.arc[v]];
            for (int k = 0; k < K_; ++k) used[k] += graph.used(k)[back.arc[v]];
        }
        double cost = double(sum);
        for (std::size_t i = 0; i < limited_.size(); ++i) {
            const int k = limited_[i];
            const double left = double(problem_.upper[k] - used[k]);
            slack[i] = left / double(std::max<Amount>(1, problem_.upper[k]));
            cost -= double(base_[k]) / double(unit_) * left;
        }
        return cost;
    }

    Problem &problem_;
    Clock &clock_;
    int K_;
    Score unit_ = 1, bound_ = -FAR, largest_ = 0;
    Indices limited_, circle_;
    Amounts base_, best_, most_, leeway_;
    std::vector<Score> potential_;
    std::vector<Path> found_;
    std::vector<Score> cost_there_, cost_back_;
    Amounts used_there_, used_back_;
};

}  // namespace tape::rcsp
