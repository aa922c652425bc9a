// Finds proofs (solvers/proof.py) in whole numbers: rows of multipliers, and a tree of beginnings that they bound.
#pragma once

#include <numeric>
#include <queue>

#include "clock.hpp"
#include "types.hpp"

namespace tape {

using Wide = __int128;
constexpr Wide NOWHERE = -(Wide(1) << 126);
constexpr Amount LARGEST_FACTOR = Amount{1} << 58;
constexpr Wide LARGEST_SUM = Wide(1) << 122;  // of what a row gives or takes along any path
constexpr int SWEEPS = 3, PROBES = 16;
constexpr Amount GRID = 720720;  // denominator of the multipliers of several resources

struct Claim {
    int nodes, start, resources;
    Indices tails, heads;
    std::vector<Wide> gains;
    Amounts uses, lower, upper;         // uses: a row for each edge
    std::vector<Wide> ends;             // what an end adds; NOWHERE for what is none
    bool nothing_fits;
    Wide best;
    std::size_t most;  // entries of the tree
};

struct TooLong {};
struct Better {};

class Prover {
  public:
    std::vector<Amounts> rows;
    std::vector<long long> tree;

    Prover(const Claim &claim, Clock &clock) : claim_(claim), clock_(clock), leaving_(std::size_t(claim.nodes)) {
        for (std::size_t e = 0; e < claim.tails.size(); ++e) leaving_[std::size_t(claim.tails[e])].push_back(int(e));
        Wide values = 1, uses = 1;
        for (const Wide gain : claim.gains) values += gain < 0 ? -gain : gain;
        for (const Wide more : claim.ends)
            if (more != NOWHERE) values += more < 0 ? -more : more;
        for (const Amount use : claim.uses) uses += use;
        for (const Amount most : claim.upper) uses += most < 0 ? -most : most;
        weight_ = Amount(std::min<Wide>(LARGEST_FACTOR, LARGEST_SUM / values));
        price_ = Amount(std::min<Wide>(LARGEST_FACTOR, LARGEST_SUM / uses / std::max(1, claim.resources)));
    }

    void run() {
        const std::size_t K = std::size_t(claim_.resources);
        for (std::size_t k = 0; k < K; ++k) {
            add(unit(k, 1));
            if (claim_.lower[k] > 0) add(unit(k, -1));
        }
        for (const Amounts &row : claim_.nothing_fits ? mixed() : dual()) add(row);
        search();
    }

  private:
    struct Path {
        Wide value = 0;
        std::vector<Wide> use;
    };
    struct Beginning {
        int node;
        Wide value;
        long long code = 0;
        int like = -1, first = 0, longer = 0, place = 0;
    };
    using Table = std::vector<Wide>;

    const Claim &claim_;
    Clock &clock_;
    Amount weight_, price_;  // the largest weight of values in a row, and the largest multiplier
    std::vector<Indices> leaving_;
    std::vector<Table> tables_;
    std::vector<Wide> bounds_, used_;
    std::vector<Beginning> all_;

    Amounts unit(std::size_t k, Amount sign) const {
        Amounts row(std::size_t(claim_.resources) + 1, 0);
        row[k + 1] = sign;
        return row;
    }

    Wide gain(const Amounts &row, std::size_t edge) const {
        const std::size_t K = std::size_t(claim_.resources);
        Wide sum = Wide(row[0]) * claim_.gains[edge];
        for (std::size_t k = 0; k < K; ++k) sum -= Wide(row[k + 1]) * claim_.uses[edge * K + k];
        return sum;
    }

    // The most that a row gives from each node to an end, as the checker finds it.
    Table farthest(const Amounts &row) const {
        Table best(std::size_t(claim_.nodes), NOWHERE);
        const std::size_t m = claim_.tails.size();
        std::vector<Wide> gains(m);
        Wide most = 0;  // that a path without a circle can give
        for (std::size_t e = 0; e < m; ++e) most += std::max<Wide>(0, gains[e] = gain(row, e));
        Wide last = 0;
        for (std::size_t v = 0; v < best.size(); ++v)
            if (claim_.ends[v] != NOWHERE) last = std::max(last, best[v] = row[0] * claim_.ends[v]);
        bool changed = true;
        for (int pass = 0; changed; ++pass) {
            if (pass > claim_.nodes) throw TooLong{};  // a circle gives ever more
            if (clock_.passed()) throw Late{};
            changed = false;
            for (std::size_t e = m; e-- > 0;) {
                const Wide far = best[std::size_t(claim_.heads[e])];
                Wide &known = best[std::size_t(claim_.tails[e])];
                if (far != NOWHERE && (known == NOWHERE || far + gains[e] > known)) {
                    known = far + gains[e];
                    if (known > most + last) throw TooLong{};  // so it does, and soon
                    changed = true;
                }
            }
        }
        return best;
    }

    void add(const Amounts &row) {
        Wide bound = 0;
        for (std::size_t k = 0; k < std::size_t(claim_.resources); ++k)
            bound += Wide(row[k + 1]) * (row[k + 1] > 0 ? claim_.upper[k] : claim_.lower[k]);
        rows.push_back(row);
        tables_.push_back(farthest(row));
        bounds_.push_back(bound);
    }

    // The path that is best by a row; false where none is found.
    bool along(const Amounts &row, Path &path) const {
        const std::size_t K = std::size_t(claim_.resources);
        const Table table = farthest(row);
        path = Path{0, std::vector<Wide>(K, 0)};
        int at = claim_.start;
        for (int steps = 0; steps <= claim_.nodes; ++steps) {
            const Wide far = table[std::size_t(at)], more = claim_.ends[std::size_t(at)];
            if (far == NOWHERE) return false;
            if (more != NOWHERE && far == row[0] * more) {
                path.value += more;
                return true;
            }
            int taken = -1;
            for (const int e : leaving_[std::size_t(at)]) {
                const Wide rest = table[std::size_t(claim_.heads[std::size_t(e)])];
                if (rest == NOWHERE || far != rest + gain(row, std::size_t(e))) continue;
                taken = e;
                break;
            }
            if (taken < 0) return false;
            path.value += claim_.gains[std::size_t(taken)];
            for (std::size_t k = 0; k < K; ++k) path.use[k] += claim_.uses[std::size_t(taken) * K + k];
            at = claim_.heads[std::size_t(taken)];
        }
        return false;
    }

    // Rows that bound what a path within the limits is worth, the last one best: one resource after the other.
    std::vector<Amounts> dual() const {
        const std::size_t K = std::size_t(claim_.resources);
        Amounts row(K + 1, 0);
        row[0] = K > 1 ? GRID : 1;
        std::vector<Amounts> made{row};
        Path over, least, path;
        for (int sweep = 0; sweep < SWEEPS; ++sweep) {
            const Amounts before = row;
            for (std::size_t k = 0; k < K; ++k) {
                row[k + 1] = 0;
                if (K == 1) row[0] = 1;
                const Wide limit = claim_.upper[k];
                if (!along(row, over) || !along(unit(k, 1), least) || over.use[k] <= limit || least.use[k] > limit) continue;
                for (int probe = 0; probe < PROBES; ++probe) {
                    price(row, k, over, least);
                    if (!along(row, path) || path.use[k] == over.use[k] || path.use[k] == least.use[k]) break;
                    (path.use[k] > limit ? over : least) = path;
                }
            }
            made.push_back(row);
            if (row == before || K == 1) break;
        }
        std::vector<Amounts> last;
        for (std::size_t i = 0; i < made.size(); ++i)
            if (std::find(made.begin(), made.begin() + std::ptrdiff_t(i), made[i]) == made.begin() + std::ptrdiff_t(i))
                last.push_back(made[i]);
        if (last.size() > 2) last.erase(last.begin(), last.end() - 2);
        return last;
    }

    // Where both paths are worth as much: of one resource exactly, of several on the grid.
    void price(Amounts &row, std::size_t k, const Path &over, const Path &least) const {
        const bool single = row.size() == 2;
        Wide gap = (single ? 1 : row[0]) * (over.value - least.value), less = over.use[k] - least.use[k];
        for (std::size_t j = 0; j + 1 < row.size(); ++j)
            if (j != k) gap -= Wide(row[j + 1]) * (over.use[j] - least.use[j]);
        gap = std::max<Wide>(0, gap);
        if (!single) {
            row[k + 1] = Amount(std::min<Wide>(price_, (gap + less / 2) / less));
            return;
        }
        for (Wide a = gap, b = less; b;) {
            const Wide rest = a % b;
            a = b;
            if (!(b = rest)) gap /= a, less /= a;
        }
        while (gap > price_ || less > weight_) gap /= 2, less = std::max<Wide>(1, less / 2);
        row = {Amount(less), Amount(gap)};
    }

    // Rows by which the cheapest path breaks several limits together, where such are found.
    std::vector<Amounts> mixed() const {
        const std::size_t K = std::size_t(claim_.resources);
        std::vector<Amounts> made;
        if (K < 2 || *std::min_element(claim_.upper.begin(), claim_.upper.end()) < 0) return made;
        std::vector<double> prices;
        for (const Amount most : claim_.upper) prices.push_back(1 / (double(most) + 1));
        for (int step = 1; step <= PROBES; ++step) {
            double least = 0, largest = 0;
            for (const double one : prices) {
                largest = std::max(largest, one);
                if (one > 0 && (least == 0 || one < least)) least = one;
            }
            if (largest == 0) break;
            const double scale = std::min(1000 / least, double(price_) / 2 / largest);
            Amounts row{0};
            for (const double one : prices) row.push_back(Amount(one * scale + .5));
            Path path;
            const bool there = along(row, path);
            made.push_back(row);
            Wide use = 0, limit = 0;
            for (std::size_t k = 0; k < K && there; ++k) {
                use += row[k + 1] * path.use[k];
                limit += Wide(row[k + 1]) * claim_.upper[k];
            }
            if (!there || use > limit) break;
            for (std::size_t k = 0; k < K; ++k) {
                const double most = double(claim_.upper[k]) + 1;
                prices[k] = std::max(0.0, prices[k] + (double(path.use[k]) - most + 1) / (most * step) / most);
            }
        }
        if (made.size() > 2) made.erase(made.begin(), made.end() - 2);
        return made;
    }

    // --- the tree ---

    const Wide *use(int i) const { return used_.data() + std::size_t(i) * std::size_t(claim_.resources); }

    bool no_better(int one, int other) const {
        if (all_[std::size_t(one)].value > all_[std::size_t(other)].value) return false;
        for (int k = 0; k < claim_.resources; ++k) {
            const Wide mine = use(one)[k], its = use(other)[k];
            if (mine < its || (mine != its && its < claim_.lower[std::size_t(k)])) return false;
        }
        return true;
    }

    void search() {
        std::priority_queue<std::pair<Wide, int>> queue;  // of equal values the one that was made first
        std::vector<Indices> expanded(std::size_t(claim_.nodes));
        all_.push_back({claim_.start, 0});
        used_.assign(std::size_t(claim_.resources), 0);
        open(0, queue);
        while (!queue.empty()) {
            if (clock_.passed()) throw Late{};
            const int i = -queue.top().second;
            queue.pop();
            Indices &others = expanded[std::size_t(all_[std::size_t(i)].node)];
            const auto like = std::find_if(others.begin(), others.end(), [&](int other) { return no_better(i, other); });
            if (like != others.end()) {
                all_[std::size_t(i)].like = *like;
                continue;
            }
            expand(i);
            others.push_back(i);
            const Beginning at = all_[std::size_t(i)];
            for (int longer = at.first; longer < at.first + at.longer; ++longer) open(longer, queue);
        }
        write();
    }

    void expand(int i) {
        const std::size_t K = std::size_t(claim_.resources);
        const Beginning at = all_[std::size_t(i)];
        const Wide more = claim_.ends[std::size_t(at.node)];
        bool kept = more != NOWHERE;
        for (std::size_t k = 0; k < K && kept; ++k) kept = use(i)[k] >= claim_.lower[k] && use(i)[k] <= claim_.upper[k];
        if (kept && (claim_.nothing_fits || at.value + more > claim_.best)) throw Better{};
        const int first = int(all_.size());
        for (const int edge : leaving_[std::size_t(at.node)]) {
            const std::size_t e = std::size_t(edge), before = std::size_t(i) * K;
            bool fits = true;
            for (std::size_t k = 0; k < K && fits; ++k) fits = used_[before + k] + claim_.uses[e * K + k] <= claim_.upper[k];
            if (!fits) continue;
            all_.push_back({claim_.heads[e], at.value + claim_.gains[e]});
            for (std::size_t k = 0; k < K; ++k) used_.push_back(used_[before + k] + claim_.uses[e * K + k]);
        }
        all_[std::size_t(i)].first = first;
        all_[std::size_t(i)].longer = int(all_.size()) - first;
        if (all_.size() > claim_.most) throw TooLong{};
    }

    // Bound a beginning by a row, or put it into the queue.
    void open(int i, std::priority_queue<std::pair<Wide, int>> &queue) {
        Beginning &at = all_[std::size_t(i)];
        for (std::size_t r = rows.size(); r-- > 0;) {
            const Wide far = tables_[r][std::size_t(at.node)];
            bool inside = far == NOWHERE;
            if (!inside) {
                Wide bound = Wide(rows[r][0]) * at.value + bounds_[r] + far;
                for (int k = 0; k < claim_.resources; ++k) bound -= rows[r][std::size_t(k) + 1] * use(i)[k];
                inside = rows[r][0] == 0 ? bound < 0 : !claim_.nothing_fits && bound <= rows[r][0] * claim_.best;
            }
            if (inside) {
                at.code = (long long)(r) + 1;
                return;
            }
        }
        queue.push({at.value, -i});
    }

    // Codes in the order in which the checker meets the beginnings.
    void write() {
        Indices order, stack{0};
        while (!stack.empty()) {
            const int i = stack.back();
            stack.pop_back();
            order.push_back(i);
            Beginning &at = all_[std::size_t(i)];
            at.place = int(order.size());
            for (int longer = at.first + at.longer; longer-- > at.first;) stack.push_back(longer);
        }
        for (const int i : order) {
            const Beginning &at = all_[std::size_t(i)];
            tree.push_back(at.like >= 0 ? -(long long)(all_[std::size_t(at.like)].place) : at.code);
        }
    }
};

}  // namespace tape
