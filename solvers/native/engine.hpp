// The whole way from a network to proved paths.
#pragma once

#include "fixing.hpp"
#include "resume.hpp"
#include "smallest.hpp"
#include "steps.hpp"

namespace tape {

enum class Ending { Proved, OutOfTime, NoTerminal, BudgetAlone, BudgetsTogether, TooLarge };

struct Answer {
    Ending ending = Ending::Proved;
    std::vector<Path> paths;   // best first
    Score bound = UNBOUNDED;   // no path scores more
    bool ordered = true;       // the paths are those of smallest edges
    std::size_t arcs = 0;      // of the time-expanded graph, before any were removed
    std::size_t labels = 0;    // extended
    int rounds = 0;            // sweeps
    double bytes = 0;          // with TooLarge: the memory that would have been needed, at least
    std::vector<Scores> prices;  // the best at the end, per unit of the network's resources
};

constexpr std::size_t FIRST_WIDTH = 64, GROWTH = 8;

// How much bounds for other viewpoints may cost, as a multiple of all else.
constexpr double VIEW_SHARE = 2.0;
constexpr std::size_t MOST_CELLS = std::size_t{6} << 20;

// Basic steps worth spending on a table: what the search has cost so far, and a little to begin with.
inline double worth(double spent) { return 50e3 + spent; }

template <int Fixed> class Engine {
  public:
    Engine(const Network &network, std::size_t wanted, Clock &clock)
        : network_(network), clock_(clock), incumbents_(wanted) {}

    // `resumed`: what is known from a related problem, or null.
    Answer solve(const Resumed *resumed) {
        Answer answer;
        try {
            if (!resumed) {
                const Reversed reversed(network_);
                const Indices to_go = moves_to_go(network_, reversed, clock_);
                if (begin(reversed, to_go, answer)) {
                    answer.paths = incumbents_.paths();
                    return answer;
                }
            }
            else if (resumed->reachable()) {
                resumed->dive_into(incumbents_, clock_);
                graph_ = resumed->expand(incumbents_.floor(), clock_);
            }
            answer.arcs = std::max(answer.arcs, graph_.arcs());
            answer.ending = search(answer, resumed);
        } catch (const Late &) {
            answer.ending = Ending::OutOfTime;
        } catch (const TooLarge &large) {
            answer.ending = Ending::TooLarge;
            answer.bytes = large.bytes;
        }
        for (const Bound &bound : pool_.bounds())
            if (answer.prices.size() < 2) answer.prices.push_back(bound.prices);
        answer.paths = incumbents_.paths();
        if (!answer.paths.empty() && (answer.ending == Ending::OutOfTime || answer.ending == Ending::TooLarge))
            answer.bound = std::max(answer.bound, answer.paths.front().score);
        return answer;
    }

  private:
    // Expands the graph, after passes over the network itself where they pay. True if they were a proof.
    bool begin(const Reversed &reversed, const Indices &to_go, Answer &answer) {
        const int K = network_.resources;
        const Indices from = moves_from_start(network_, clock_);
        const bool reached = to_go[network_.start] <= network_.horizon && incumbents_.wanted() == 1;
        const double share = reached ? filled(network_, from, to_go, clock_) : 0;
        if (share >= FILLED_FOR_ONE && roomy(network_)) {
            const Steps steps(network_, std::vector<std::uint8_t>(network_.heads.size(), 1), from, to_go);
            answer.arcs = steps.arcs();
            if (unbudgeted(steps, steps.bound(Scores(K, 0), clock_), answer)) return true;
        }
        std::vector<Amounts> need;
        bool tight = false;
        for (int k = 0; k < K; ++k) {
            need.push_back(least_to_go(network_, reversed, k, clock_));
            tight |= double(network_.budgets[k]) < TIGHT * double(need[k][network_.start]);
        }
        if (share >= FILLED_FOR_ALL && K && !tight) {
            Steps steps(network_, slots_within(network_, need, clock_), from, to_go);
            steps.set_need(&need);
            Bound free = steps.bound(Scores(K, 0), clock_);
            if (unbudgeted(steps, free, answer)) return true;
            if (free.limit() > REACHABLE) {
                pool_.add(std::move(free));
                lower_dual(steps, pool_, incumbents_, 3 * K, clock_);
                graph_ = expand_within(steps, need, pool_, incumbents_.floor(), clock_);
                return false;
            }
        }
        graph_ = expand(network_, need, to_go, clock_);
        return false;
    }

    // Whether the unbudgeted optimum keeps the budgets: then it is the optimum, of the smallest edges.
    bool unbudgeted(const Steps &steps, const Bound &free, Answer &answer) {
        answer.bound = free.limit();
        const Dive first = steps.dive(free, {0, network_.budgets, {0, {}}}, false, clock_);
        if (first.keeps) incumbents_.offer(first.path);
        return first.keeps;
    }

    Ending search(Answer &answer, const Resumed *resumed) {
        const int K = network_.resources;
        if (!graph_.states()) return Ending::NoTerminal;
        if (!alive()) return Ending::BudgetAlone;
        if (pool_.empty()) {
            Bound free = make_bound(network_, graph_, Scores(K, 0), clock_);
            answer.bound = free.limit();
            const Dive first = dive(network_, graph_, free, {0, network_.budgets, {0, {}}}, nullptr, clock_);
            if (first.keeps) incumbents_.offer(first.path);  // the smallest edges of all optimal paths
            if (first.keeps && incumbents_.wanted() == 1) return Ending::Proved;
            pool_.add(std::move(free));
        }
        if (resumed)
            for (Scores &prices : resumed->prices()) pool_.add(make_bound(network_, graph_, std::move(prices), clock_));
        tighten(network_, graph_, windows_, pool_.values(), clock_);
        if (!alive()) return Ending::BudgetAlone;
        incumbents_.set_worst(worst_path(graph_, clock_));
        if (K) {
            lower_dual(Ground{network_, graph_, windows_}, pool_, incumbents_, 6 + 4 * K, clock_);
            spent_ += 16.0 * double(graph_.arcs());
            if (fix_arcs(network_, graph_, windows_, pool_, incumbents_, clock_) > 0.1 && !proved()) {
                lower_dual(Ground{network_, graph_, windows_}, pool_, incumbents_, 12 + 4 * K, clock_);
                fix_arcs(network_, graph_, windows_, pool_, incumbents_, clock_);
            }
        }
        answer.bound = std::min(answer.bound, pool_.best().limit());
        std::size_t width = FIRST_WIDTH;
        bool done = proved();
        while (!done) {
            if (K && tabulate(answer)) break;
            const SweepResult result = sweep(width, false, answer);
            if (!result.finished) return Ending::OutOfTime;
            answer.bound = std::min(answer.bound, std::max(incumbents_.floor(), result.dropped));
            done = result.dropped < incumbents_.floor(incumbents_.wanted() == 1) || result.dropped == NEVER;
            if (!done && K) look_around(result);
            if (!done && fix_arcs(network_, graph_, windows_, pool_, incumbents_, clock_) > 0) {
                tables_.clear();
                done = proved();
            }
            width *= GROWTH;
        }
        if (incumbents_.paths().empty()) return Ending::BudgetsTogether;
        if (incumbents_.wanted() == 1 && !ordered_) order(answer);
        return Ending::Proved;
    }

    bool alive() const { return graph_.states() && (graph_.arcs() || graph_.finish[0] > REACHABLE); }

    bool proved() const {
        return (incumbents_.wanted() == 1 || !incumbents_.full()) && pool_.best().limit() < incumbents_.floor(true);
    }

    Knowledge knowledge() const { return {network_, graph_, windows_, pool_, tables_}; }

    SweepResult sweep(std::size_t width, bool ordered, Answer &answer) {
        const Knowledge known = knowledge();
        Sweep<Fixed> sweep(known, incumbents_, clock_, ordered || incumbents_.wanted() > 1);
        const SweepResult result = sweep.run(width);
        answer.labels += result.labels;
        last_ = result.labels;
        ++answer.rounds;
        spent_ += 300.0 * double(result.labels);
        return result;
    }

    // Makes, or makes finer, the tables that are worth it by now, and fixes arcs with them. True if that is a proof.
    bool tabulate(Answer &answer) {
        const int K = network_.resources;
        if (!network_.chances.empty() && K == 1) return false;
        for (int k = 0; k < K; ++k) {
            const double steps = table_steps(network_, graph_, windows_, k), enough = worth(spent_) / K;
            const Amount grain = Amount(std::ceil(std::max(steps / enough, steps / double(MOST_CELLS))));
            if (grain > 1 && double(network_.budgets[k]) / double(grain) < 16) continue;
            auto table = std::make_unique<Table>(network_, graph_, windows_, pool_.best().prices, k,
                                                 std::max<Amount>(1, grain), clock_);
            const Score limit = table->limit(network_);
            answer.bound = std::min(answer.bound, limit);
            if (limit < incumbents_.floor(incumbents_.wanted() == 1)) return true;
            const bool exact = incumbents_.wanted() == 1 && table->exact(K);
            tables_.push_back(std::move(table));
            if (exact) {
                const auto slots = smallest_edges<Fixed>(knowledge(), limit, std::size_t(-1), clock_);
                if (slots) incumbents_.offer({limit, *slots});
                ordered_ = bool(slots);
                return bool(slots);
            }
        }
        return false;
    }

    // New bounds, tight where the last sweep found the most promising labels; for no more than the search has cost.
    void look_around(const SweepResult &result) {
        for (const Promise &label : result.promising) {
            const Score floor = incumbents_.floor();
            const double cost = 8.0 * double(graph_.arcs());
            if (looked_ + cost > VIEW_SHARE * worth(spent_)) return;
            if (label.bound <= floor) continue;
            double gap = double(label.bound - floor);
            if (!incumbents_.full()) gap = std::min(gap, 0.02 * std::abs(double(label.bound)));
            look_from(network_, graph_, windows_, pool_, label.from, incumbents_, gap, 6, clock_);
            looked_ += cost;
        }
    }

    // Looks for the smallest edges among the paths of the optimal score.
    void order(Answer &answer) {
        const Score best = incumbents_.paths().front().score;
        const std::size_t patience = 20000 + last_;  // a sweep that keeps ties takes about as long as the last one
        if (const auto slots = smallest_edges<Fixed>(knowledge(), best, patience, clock_)) {
            incumbents_.offer({best, *slots});
            return;
        }
        answer.ordered = !clock_.passed() && sweep(std::size_t(-1) / 2, true, answer).finished;
    }

    const Network &network_;
    Clock &clock_;
    Incumbents incumbents_;
    Expanded graph_;
    Windows windows_;
    Pool pool_;
    std::vector<std::unique_ptr<Table>> tables_;
    std::size_t last_ = 0;  // labels of the last sweep
    double spent_ = 0;      // basic steps, roughly
    double looked_ = 0;     // the same, for bounds from other viewpoints
    bool ordered_ = false;  // an exact table has given the path of smallest edges
};

inline Answer solve(const Network &network, std::size_t wanted, Clock &clock, const Resumed *resumed) {
    switch (network.resources) {
    case 1: return Engine<1>(network, wanted, clock).solve(resumed);
    case 2: return Engine<2>(network, wanted, clock).solve(resumed);
    case 3: return Engine<3>(network, wanted, clock).solve(resumed);
    default: return Engine<0>(network, wanted, clock).solve(resumed);
    }
}

// Solves the next problem of a sequence with what is remembered of those before, and remembers more for those to come.
inline Answer solve_next(Problem &problem, Network &network, Memory &memory, std::size_t wanted, Clock &clock) {
    memory.follow(problem, clock);
    network = build_network(problem, clock);
    Answer answer;
    if (!memory.empty()) {
        const Resumed resumed(problem, network, memory);
        answer = solve(network, wanted, clock, &resumed);
    } else {
        answer = solve(network, wanted, clock, nullptr);
    }
    if (!answer.paths.empty()) memory.remember(problem, network, answer.paths.front());
    const bool ended = answer.ending != Ending::OutOfTime && answer.ending != Ending::TooLarge;
    if (ended && memory.wants(answer.arcs, clock.cap())) {
        std::vector<Scores> prices;
        for (const Scores &reduced : answer.prices) {
            Scores raw(problem.resources, 0);
            bool any = false;
            for (int k = 0; k < network.resources; ++k) {
                raw[network.origin[k]] = reduced[k] / network.divisors[k];
                any |= raw[network.origin[k]] > 0;
            }
            if (any) prices.push_back(std::move(raw));
        }
        try {
            memory.learn(prices, clock);
        } catch (const Late &) {  // the answer stands; the memory knows that it is not whole
        }
    }
    return answer;
}

}  // namespace tape
