// The best paths of a plan graph: a constrained path on the graph as it is where the objective allows, else on the graph
// expanded in time.
#pragma once

#include "solve.hpp"
#include "steps.hpp"

namespace tape {

// Costs of a path add up to less than this, so that prices can be added.
constexpr Cost LARGEST_COST = Cost{1} << 58;

class Select {
  public:
    // known: nodes of a path that may be a good one, and prices that may bound well, of an earlier problem of a sequence.
    Select(const Network &network, std::size_t wanted, const Indices &known, const Amounts &price, Clock &clock)
        : network_(network), wanted_(wanted), known_(known), price_(price), clock_(clock) {}

    // Scores of the answer's bound and paths are costs: less is better.
    Answer run() {
        Answer answer;
        if (as_it_is(answer)) return answer;
        try {
            return in_time();
        } catch (const Late &) {
            answer.ending = Ending::OutOfTime;
        } catch (const TooLarge &large) {
            answer.ending = Ending::TooLarge;
            answer.bytes = large.bytes;
        }
        return answer;
    }

  private:
    Problem problem() const {
        Problem problem;
        problem.wanted = wanted_;
        problem.ties = problem.finest = true;
        problem.lower.assign(std::size_t(network_.resources), 0);
        problem.upper = network_.budgets;
        problem.chances = network_.chances;
        problem.moves.resources = network_.resources;
        return problem;
    }

    bool as_it_is(Answer &) { return false; }

    // Expanded in time, after passes over the network itself where they pay.
    Answer in_time() {
        Problem expanded = problem();
        const Reversed reversed(network_);
        const Indices to_go = moves_to_go(network_, reversed, clock_), from = moves_from_start(network_, clock_);
        const int K = network_.resources;
        const bool reached = to_go[network_.start] <= network_.horizon && wanted_ == 1;
        const double share = reached ? filled(network_, from, to_go, clock_) : 0;
        const Amounts free(std::size_t(K), 0);
        if (share >= FILLED_FOR_ONE && roomy(network_)) {
            const Steps steps(network_, expanded, std::vector<std::uint8_t>(network_.heads.size(), 1), from, to_go);
            if (Dive first = steps.dive(steps.pass(free, clock_), false, clock_); first.keeps) return proved(std::move(first));
        }
        std::vector<Amounts> need;
        bool tight = false;
        for (int k = 0; k < K; ++k) {
            need.push_back(least_to_go(network_, reversed, k, clock_));
            tight |= double(network_.budgets[k]) < TIGHT * double(need[k][network_.start]);
        }
        if (share >= FILLED_FOR_ALL && K && !tight) {
            Steps steps(network_, expanded, slots_within(network_, need, clock_), from, to_go);
            steps.set_need(&need);
            Pass pass = steps.pass(free, clock_);
            if (Dive first = steps.dive(pass, false, clock_); first.keeps) return proved(std::move(first));
            if (!price_.empty()) pass = steps.pass(price_, clock_);
            if (Steps::reaches(pass)) return priced(steps, std::move(pass), expanded, need, to_go);
        }
        expanded.moves = moves_of(network_);
        expanded.graph = expand(network_, need, to_go, clock_, Everything{});
        return searched(std::move(expanded), need, nullptr, nullptr);
    }

    // The best of all paths keeps the budgets; it is that of the smallest edges.
    Answer proved(Dive first) const {
        Answer answer;
        answer.ending = Ending::Proved;
        answer.bound = first.path.cost;
        answer.paths.push_back(std::move(first.path));
        return answer;
    }

    // A few prices and first paths, so that only arcs are expanded that the bound leaves.
    Answer priced(const Steps &steps, Pass pass, Problem &expanded, const std::vector<Amounts> &need, const Indices &to_go) {
        const int K = network_.resources;
        Indices limited(K);
        std::iota(limited.begin(), limited.end(), 0);
        Amounts most, base(std::size_t(K), 0), price;
        for (const Amount budget : network_.budgets) most.push_back(LARGEST_PAYMENT / K / (budget + 1));
        const double scale = std::max(1.0, std::abs(double(pass.bound())));
        Cuts cuts(scale, 1e6, limited, network_.budgets, base, most);
        Found found(expanded);
        bool helped = true;
        Pass best = pass;
        for (int turn = 0;; ++turn) {
            Dive seen = steps.dive(pass, false, clock_);
            cuts.add(double(seen.path.cost), seen.used, network_.budgets);
            if (!seen.keeps) seen = steps.dive(pass, true, clock_);
            if (seen.keeps) found.offer(std::move(seen.path));
            if (turn == 3 * K) break;
            const double now = double(best.bound());
            const double gap = found.full() ? double(found.ceiling()) - now : 0.02 * scale;
            if (cuts.aim() - now <= std::max(0.01 * gap, 1e-12 * scale)) break;
            cuts.next(best.price, helped, price);
            pass = steps.pass(price, clock_);
            helped = pass.bound() > best.bound();
            if (helped) best = pass;
        }
        const Cost limit = std::min(found.interest(true) + best.payment, FAR / 2);
        expanded.moves = moves_of(network_);
        expanded.graph = expand(network_, need, to_go, clock_, Within{network_, steps, best, limit, {}});
        return searched(std::move(expanded), need, &best.price, found.full() ? &found.paths().front() : nullptr);
    }

    Answer searched(Problem expanded, const std::vector<Amounts> &need, const Amounts *price, const Path *path) {
        if (expanded.graph.nodes == 0) {
            Answer answer;
            answer.ending = Ending::Unreachable;
            return answer;
        }
        Solve solve(std::move(expanded), clock_);
        const Indices &node = solve.problem().graph.name;
        for (const Amounts &least : need) {
            Costs each(node.size());
            for (std::size_t s = 0; s < node.size(); ++s) each[s] = least[node[s]];
            solve.need.push_back(std::move(each));
        }
        solve.price = price ? *price : price_;
        if (path) solve.known.push_back(*path);
        if (!known_.empty()) know(solve);
        return solve.run();
    }

    // Takes what is left of the known path from the start on for one to beat, where it keeps the budgets.
    void know(Solve &solve) const {
        Path path;
        Amounts used(std::size_t(network_.resources), 0);
        int v = network_.start, step = 0;
        auto node = std::find(known_.begin(), known_.end(), v);
        if (node == known_.end()) return;
        while (++node != known_.end()) {
            int slot = network_.offset[v];
            while (slot < network_.offset[v + 1] && network_.heads[slot] != *node) ++slot;
            if (slot == network_.offset[v + 1] || step == network_.horizon) return;
            v = *node;
            path.cost -= network_.move(step++, v);
            path.edges.push_back(network_.edge_ids[slot]);
            for (int k = 0; k < network_.resources; ++k) used[k] += network_.cost(slot)[k];
        }
        if (!network_.terminal[v] || !solve.problem().keeps(used.data())) return;
        path.cost -= network_.stay(step, v);
        solve.known.push_back(std::move(path));
    }

    const Network &network_;
    std::size_t wanted_;
    const Indices &known_;
    const Amounts &price_;
    Clock &clock_;
};

}  // namespace tape
