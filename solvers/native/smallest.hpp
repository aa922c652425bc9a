// The tie-break: of all paths with the optimal score, the one with the lexicographically smallest edges.
#pragma once

#include <optional>

#include "sweep.hpp"

namespace tape {

// Depth first, smallest edges first, along what the bounds still allow; states that failed are remembered with what
// had been earned and used there, and fail again for whoever comes with no more. Gives up after `patience` moves.
template <int Fixed>
std::optional<Indices> smallest_edges(const Knowledge &known, Score score, std::size_t patience, Clock &clock) {
    const Network &network = known.network;
    const Expanded &graph = known.graph;
    const int K = Fixed ? Fixed : network.resources;
    struct Frame {
        int state, arc;
        Score score;
    };
    std::vector<Frame> stack;
    Amounts used(K, 0), rest(K), slack(K);  // `used`: K amounts a frame
    std::vector<Scores> failed_score(graph.states());
    std::vector<Amounts> failed_used(graph.states());
    stack.push_back({0, graph.first[0], 0});
    for (std::size_t moves = 0; !stack.empty();) {
        Frame &top = stack.back();
        const std::size_t here = (stack.size() - 1) * K;
        if (top.arc == graph.first[top.state] && graph.finish[top.state] > REACHABLE &&
            top.score + graph.finish[top.state] == score && keeps_chances(network, used.data() + here, nullptr)) {
            Indices slots;
            for (std::size_t i = 0; i + 1 < stack.size(); ++i) slots.push_back(graph.slot[stack[i].arc - 1]);
            return slots;
        }
        if (top.arc == graph.first[top.state + 1]) {
            failed_score[top.state].push_back(top.score);
            failed_used[top.state].insert(failed_used[top.state].end(), used.begin() + std::ptrdiff_t(here),
                                          used.begin() + std::ptrdiff_t(here) + K);
            used.resize(here);
            stack.pop_back();
            continue;
        }
        if (++moves > patience || ((moves & 4095) == 0 && clock.passed())) return std::nullopt;
        if ((moves & 4095) == 0) clock.require(known.bytes() + double(moves) * 2 * (sizeof(Score) + K * sizeof(Amount)));
        const int a = top.arc++, h = graph.head[a];
        const Amount *cost = network.cost(graph.slot[a]);
        used.resize(here + 2 * std::size_t(K));
        Amount *now = used.data() + here + K;
        bool fits = true;
        for (int k = 0; k < K; ++k) {
            now[k] = used[here + k] + cost[k];
            slack[k] = network.budgets[k] - now[k];
            rest[k] = known.windows.ahead[k][h];
            fits &= rest[k] <= slack[k];
        }
        const Score earned = top.score + graph.gain[h];
        fits = fits && keeps_chances(network, now, rest.data()) &&
               bound_at<Fixed>(known, h, top.score, slack.data(), score, 0) >= score;
        for (std::size_t i = 0; fits && i < failed_score[h].size(); ++i) {
            bool worse = earned <= failed_score[h][i];
            for (int k = 0; k < K; ++k) worse &= failed_used[h][i * K + k] <= now[k];
            fits = !worse;
        }
        if (fits) stack.push_back({h, graph.first[h], earned});
        else used.resize(here + K);
    }
    return std::nullopt;
}

}  // namespace tape
