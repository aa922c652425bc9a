// The best paths of a plan graph: a constrained path on the graph as it is where the objective allows, else on the graph
// expanded in time.
#pragma once

#include <optional>

#include "solve.hpp"
#include "steps.hpp"

namespace tape {

// Costs of a path add up to less than this, so that prices can be added.
constexpr Cost LARGEST_COST = Cost{1} << 58;

class Select {
  public:
    Select(const Network &network, std::size_t wanted, Clock &clock) : network_(network), wanted_(wanted), clock_(clock) {}

    Answer run() {
        try {
            std::optional<Answer> found = as_it_is();
            return found ? std::move(*found) : in_time();
        } catch (const Late &) {
            Answer answer;
            answer.ending = Ending::OutOfTime;
            return answer;
        } catch (const TooLarge &large) {
            Answer answer;
            answer.ending = Ending::TooLarge;
            answer.bytes = large.bytes;
            return answer;
        }
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

    // On the network as it is, where no step counts more than another and all ends earn the same: then a move that is saved
    // earns what an end does, and staying needs no steps. Nothing, where circles pay or the best path has too many moves.
    std::optional<Answer> as_it_is() {
        if (!network_.weights.empty()) return std::nullopt;
        const int n = network_.nodes;
        int end = -1;
        for (int v = 0; v < n; ++v) {
            if (!network_.terminal[v]) continue;
            if (end < 0) end = v;
            if (network_.unit[v] != network_.unit[end] || network_.rest[v] != network_.rest[end]) return std::nullopt;
        }
        if (end < 0) return std::nullopt;
        Problem problem = this->problem();
        Graph &graph = problem.graph;
        Moves &moves = problem.moves;
        const Indices place = graph.arrange(n, network_.offset, network_.heads);
        if (!graph.sorted && wanted_ > 1) return std::nullopt;  // others of the best may turn in circles
        Cost largest = 1;
        graph.source = place[network_.start];
        graph.arrive.assign(n, 0);
        graph.out.push_back(0);
        for (const int v : graph.name) {
            for (int slot = network_.offset[v]; slot < network_.offset[v + 1]; ++slot) {
                graph.head.push_back(place[network_.heads[slot]]);
                graph.move.push_back(moves.count());
                moves.edge.push_back(network_.edge_ids[slot]);
                moves.cost.push_back(network_.unit[end] - network_.unit[network_.heads[slot]] + 1);
                moves.use.insert(moves.use.end(), network_.cost(slot), network_.cost(slot) + network_.resources);
                largest = std::max(largest, std::abs(moves.cost.back()));
            }
            graph.out.push_back(std::int32_t(graph.head.size()));
            graph.finish.push_back(network_.terminal[v] ? 0 : FAR);
        }
        if (largest > LARGEST_COST / n) return std::nullopt;
        graph.index();
        Costs potential;
        Indices circle;
        if (!graph.sorted && !settle(graph, moves.cost, potential, circle, clock_)) return std::nullopt;
        const Cost stay = -network_.stay(0, end);  // what all paths have beside
        Answer answer = Solve(std::move(problem), clock_).run();
        const bool long_ones = std::any_of(answer.paths.begin(), answer.paths.end(),
                                           [&](const Path &path) { return int(path.edges.size()) > network_.horizon; });
        if (long_ones && answer.ending == Ending::Proved) return std::nullopt;
        if (long_ones) answer.paths.clear();
        answer.bound += stay;
        for (Path &path : answer.paths) path.cost += stay;
        return answer;
    }

    // Expanded in time, after passes over the network itself where they pay.
    Answer in_time() {
        Problem expanded = problem();
        const Links back(network_, true), onwards(network_, false);
        Indices ends;
        for (int v = 0; v < network_.nodes; ++v)
            if (network_.terminal[v]) ends.push_back(v);
        const Indices to_go = fewest_moves(network_, back, ends, clock_);
        const Indices from = fewest_moves(network_, onwards, {network_.start}, clock_);
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
            need.push_back(least_use(network_, back, ends, k, clock_));
            tight |= double(network_.budgets[k]) < TIGHT * double(need[k][network_.start]);
        }
        if (share >= FILLED_FOR_ALL && K && !tight) {
            Steps steps(network_, expanded, slots_within(network_, onwards, need, clock_), from, to_go);
            steps.set_need(&need);
            Pass pass = steps.pass(free, clock_);
            if (Dive first = steps.dive(pass, false, clock_); first.keeps) return proved(std::move(first));
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
        if (price) solve.price = *price;
        if (path) solve.known.push_back(*path);
        return solve.run();
    }

    const Network &network_;
    std::size_t wanted_;
    Clock &clock_;
};

}  // namespace tape
