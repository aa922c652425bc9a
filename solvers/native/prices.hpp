// What moves weigh at prices on resources, at which prices no circle has a negative weight, and the paths that weights
// suggest.
#pragma once

#include "passes.hpp"
#include "problem.hpp"

namespace tape {

// A bound on completions: of `unit` times the cost and of what is paid for use, from each node to the end; less the payment
// for the limits and what the label paid. Without the cost (unit 0) it bounds the use alone.
struct View {
    Cost unit = 0;
    Amounts price;
    Cost payment = 0;
    Costs ahead;  // [nodes] what arriving there costs not included

    Cost key(int v, Cost cost) const { return unit * cost + ahead[v]; }
};

// A path along a tree, what it costs and uses, and whether it keeps all limits.
struct Dive {
    Path path;
    Amounts used;
    bool keeps = false;
};

class Prices {
  public:
    Prices(Problem &problem, Clock &clock) : problem_(problem), clock_(clock), K_(problem.moves.resources) {}

    const Costs *potential() const { return potential_.empty() ? nullptr : &potential_; }
    const Amounts &base() const { return base_; }
    const Amounts &best() const { return best_; }
    Cost unit() const { return unit_; }
    const Indices &circle() const { return circle_; }

    // Whether some circle pays.
    bool circles_pay() const {
        return std::any_of(base_.begin(), base_.end(), [](Amount price) { return price > 0; });
    }

    // What moves weigh at these prices: `unit` times the cost, and the payments; or the payments alone.
    Weights priced(const Amounts &price, bool costs = true) const {
        const Moves &moves = problem_.moves;
        Weights weights;
        weights.move.assign(std::size_t(moves.count()), 0);
        if (costs) {
            for (int m = 0; m < moves.count(); ++m) weights.move[m] = unit_ * moves.cost[m];
            if (problem_.graph.arrivals) weights.arrive = &problem_.graph.arrive;
        }
        weights.finish = costs ? &problem_.graph.finish : &open_;
        for (const int k : limited_) {
            if (price[k] == 0) continue;
            weights.payment += price[k] * problem_.upper[k];
            for (int m = 0; m < moves.count(); ++m) weights.move[m] += price[k] * moves.used(m)[k];
        }
        weights.potential = costs ? potential() : nullptr;
        return weights;
    }

    // What moves use of one resource.
    Weights using_only(int k) const {
        Weights weights;
        weights.move.resize(std::size_t(problem_.moves.count()));
        for (int m = 0; m < problem_.moves.count(); ++m) weights.move[m] = problem_.moves.used(m)[k];
        weights.finish = &open_;
        return weights;
    }

    // The least of a limited resource that is used from each node on, if that is known.
    const Costs *need(int k) const {
        const auto place = std::find(limited_.begin(), limited_.end(), k);
        return place == limited_.end() || need_.empty() ? nullptr : &need_[std::size_t(place - limited_.begin())];
    }

    // Finds that out where it is not known.
    void measure() {
        Heap heap;
        if (need_.size() == limited_.size()) return;
        need_.clear();
        for (const int k : limited_) {
            Tree back;
            to_end(problem_.graph, using_only(k), back, heap, Pulse(clock_));
            need_.push_back(std::move(back.far));
        }
    }

    // The most that a unit of a resource may cost, for all sums to stay within integers.
    const Amounts &most() const { return most_; }

    // Prices at which all limits cost the same.
    Amounts fair() const {
        Amounts price(K_, 0);
        for (const int k : limited_)
            price[k] = std::min<Amount>(most_[k], (Amount{1} << 40) / std::max<Amount>(1, problem_.upper[k]));
        return price;
    }

    // Scale, prices and potentials at which no weight is negative. OutOfTime: go on.
    Ending begin() {
        const Graph &graph = problem_.graph;
        Cost largest = 1;
        bool negative = false;
        for (const Cost cost : problem_.moves.cost) {
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
        for (const int k : limited_) most_[k] = LARGEST_PAYMENT / Amount(limited_.size()) / (problem_.upper[k] + 1);
        base_.assign(K_, 0);
        reopen();
        if (negative && !graph.sorted)
            if (const Ending ending = make_potentials(largest); ending != Ending::OutOfTime) return ending;
        if (!problem_.finest) set_unit(double(largest), double(most_use));
        best_ = base_;
        return Ending::OutOfTime;
    }

    // Follows a tree from the source to an end, of equally good arcs along the first. `careful`: never to where one of the
    // limits could no longer be kept, though all together may not be; only without circles.
    Dive dive(const Weights &weights, const Tree &tree, bool careful) const {
        return dive(weights, tree, careful, problem_.graph.source, Dive{{}, Amounts(std::size_t(K_), 0), false});
    }

    // The same from a node on, to which `found` led.
    Dive dive(const Weights &weights, const Tree &tree, bool careful, int v, Dive found) const {
        const Graph &graph = problem_.graph;
        Amounts rest(K_, 0), used(K_, 0);
        for (;;) {
            int choice = -1;
            if (!careful) {
                choice = next_arc(graph, weights, tree, v);
            } else {
                Cost best = (*weights.finish)[v];
                for (int a = graph.out[v]; a < graph.out[v + 1]; ++a) {
                    const Cost through = tree.far[graph.head[a]] + weights.move[graph.move[a]];
                    if (through >= best) continue;
                    const Amount *const more = problem_.moves.used(graph.move[a]);
                    bool fits = true;
                    for (std::size_t i = 0; i < limited_.size(); ++i) {
                        const int k = limited_[i];
                        used[k] = found.used[k] + more[k];
                        rest[k] = need_[i][graph.head[a]];
                        fits &= used[k] + rest[k] <= problem_.upper[k];
                    }
                    if (!fits || !problem_.keeps_chances(used.data(), rest.data())) continue;
                    best = through;
                    choice = a;
                }
            }
            if (choice < 0) {
                if (!graph.ends(v)) return found;
                found.path.cost += graph.finish[v];
                found.keeps = problem_.keeps(found.used.data());
                return found;
            }
            const int move = graph.move[choice];
            for (int k = 0; k < K_; ++k) found.used[k] = std::min(found.used[k] + problem_.moves.used(move)[k], BEYOND);
            v = graph.head[choice];
            found.path.cost += problem_.moves.cost[move] + graph.arrive[v];
            found.path.edges.push_back(problem_.moves.edge[move]);
        }
    }

    // What a move costs, with arriving where it leads.
    Cost cost_of(int a) const { return problem_.moves.cost[problem_.graph.move[a]] + problem_.graph.arrive[problem_.graph.head[a]]; }

    // What the ways of a tree cost and use from each node on; fills in the tree's arcs.
    void path_sums(const Weights &weights, Tree &tree, Costs &cost, Amounts &use) const {
        const Graph &graph = problem_.graph;
        cost.assign(graph.nodes, 0);
        use.assign(std::size_t(graph.nodes) * K_, 0);
        const auto add = [&](int v, int a) {
            if (a < 0) {
                cost[v] = graph.finish[v];
                return;
            }
            const int next = graph.head[a];
            cost[v] = cost[next] + cost_of(a);
            const Amount *const more = problem_.moves.used(graph.move[a]);
            for (int k = 0; k < K_; ++k) use[std::size_t(v) * K_ + k] = use[std::size_t(next) * K_ + k] + more[k];
        };
        if (!graph.sorted) {
            for (const int v : tree.settled) add(v, tree.arc[v]);
            return;
        }
        tree.arc.resize(graph.nodes);
        for (int v = graph.nodes; v-- > 0;) add(v, tree.arc[v] = next_arc(graph, weights, tree, v));
    }

  protected:
    void reopen() {
        open_.resize(problem_.graph.nodes);
        for (int v = 0; v < problem_.graph.nodes; ++v) open_[v] = problem_.graph.ends(v) ? 0 : FAR;
    }

    Problem &problem_;
    Clock &clock_;
    int K_;
    Cost unit_ = 1, largest_ = 0;
    Indices limited_;
    Amounts base_, best_, most_;
    Costs potential_;
    std::vector<Costs> need_;  // of each limited resource, the least that is used from each node on

  private:
    void set_unit(double largest, double most_use) {
        double all = largest * problem_.graph.nodes;
        for (const Cost one : potential_) all = std::max(all, std::abs(double(one)));
        // The more units, the finer are prices; what is left to LARGEST_WEIGHT is how high they can be.
        const double fine = std::max(65536.0, 1024.0 * most_use / largest);
        Cost bits = 1;
        while (double(bits) < fine && double(bits) * 2 * all < double(LARGEST_WEIGHT) / 16 &&
               std::all_of(limited_.begin(), limited_.end(), [&](int k) { return base_[k] * bits * 2 <= most_[k]; }))
            bits *= 2;
        unit_ = bits;
        for (const int k : limited_) base_[k] *= bits;
        for (Cost &one : potential_) one *= bits;
    }

    // Prices from which on no circle has a negative weight, the least of a growing sequence, and the potentials then.
    Ending make_potentials(Cost largest) {
        const Graph &graph = problem_.graph;
        for (double share = 0;; share = share == 0 ? 1e-6 : share * 4) {
            bool more = false;
            for (const int k : limited_) {
                const double wish = share * double(largest) * graph.nodes;
                base_[k] = Amount(std::min(std::ceil(wish), double(most_[k]) / 2));
                more |= double(base_[k]) < wish + 1 && base_[k] < most_[k] / 2 && share < 1;
            }
            potential_.clear();
            if (settle(graph, priced(base_).move, potential_, circle_, clock_)) return Ending::OutOfTime;
            if (!more) break;
        }
        // A circle that pays at any price uses nothing; or numbers are too large for these integers.
        Costs weight(problem_.moves.cost);
        for (const int k : limited_)
            for (int m = 0; m < problem_.moves.count(); ++m)
                if (problem_.moves.used(m)[k] > 0) weight[m] = largest * graph.nodes + 1;
        if (settle(graph, weight, potential_, circle_, clock_)) return Ending::TooWide;
        return Ending::Unbounded;
    }

    Indices circle_;
    Costs open_;
};

}  // namespace tape
