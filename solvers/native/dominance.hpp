// Which labels of one state no completion can make win: others have earned as much and used no more.
#pragma once

#include <algorithm>

#include "clock.hpp"
#include "types.hpp"

namespace tape {

// Labels of one layer, as rows: score[i], used[i * K ..].
struct LabelView {
    const Score *score;
    const Amount *used;
    int K;
};

// Pairs of amounts of which none is at most another: first ascending, second descending.
class Staircase {
  public:
    void clear() { stairs_.clear(); }

    // Whether a pair is in that is at most (first, second) in both.
    bool covers(Amount first, Amount second) const {
        const auto after = above(first);
        return after != stairs_.begin() && std::prev(after)->second <= second;
    }

    // Adds a pair that is not covered, and drops those that it covers.
    void insert(Amount first, Amount second) {
        auto begin = stairs_.begin() + (above(first) - stairs_.cbegin()), end = begin;
        if (begin != stairs_.begin() && std::prev(begin)->first == first) --begin;
        while (end != stairs_.end() && end->second >= second) ++end;
        if (begin == end) stairs_.insert(begin, {first, second});
        else {
            *begin = {first, second};
            stairs_.erase(begin + 1, end);
        }
    }

  private:
    struct Stair {
        Amount first, second;
    };
    std::vector<Stair>::const_iterator above(Amount first) const {
        return std::upper_bound(stairs_.begin(), stairs_.end(), first,
                                [](Amount amount, const Stair &stair) { return amount < stair.first; });
    }
    std::vector<Stair> stairs_;
};

class Dominance {
  public:
    // `copies`: how many paths are wanted; a label goes only if that many others dominate it.
    // `ordered`: equal scores are told apart by their edges, so that only a label of smaller index dominates at an
    // equal score (labels are in the lexicographic order of their edges).
    Dominance(std::size_t copies, bool ordered, Clock &clock) : copies_(copies), ordered_(ordered), clock_(clock) {}

    // Sets keep[i] = 0 for the dominated of `group` (label indices, ascending; reordered here). False if out of time.
    bool filter(const LabelView &labels, std::int32_t *group, std::size_t count, std::uint8_t *keep) {
        if (count <= copies_) return true;
        if (count > 512 && clock_.passed()) return false;
        const int K = labels.K;
        std::sort(group, group + count, [&](std::int32_t a, std::int32_t b) {
            clock_.tick();
            if (labels.score[a] != labels.score[b]) return labels.score[a] > labels.score[b];
            if (!ordered_) {
                const Amount *one = labels.used + std::size_t(a) * K, *two = labels.used + std::size_t(b) * K;
                for (int k = 0; k < K; ++k)
                    if (one[k] != two[k]) return one[k] < two[k];
            }
            return a < b;
        });
        if (copies_ > 1 || K > 3 || (K == 3 && count < FEW)) return compare(labels, group, count, keep);
        if (K == 3) tree(labels, group, count, keep);
        else if (K == 2) staircase(labels, group, count, keep);
        else if (K == 1) undercut(labels, group, count, keep);
        else std::for_each(group + 1, group + count, [&](std::int32_t i) { keep[i] = 0; });
        return true;
    }

  private:
    static constexpr std::size_t FEW = 48;

    void undercut(const LabelView &labels, const std::int32_t *group, std::size_t count, std::uint8_t *keep) {
        Amount least = labels.used[group[0]];
        for (std::size_t i = 1; i < count; ++i) {
            const Amount used = labels.used[group[i]];
            if (used >= least) keep[group[i]] = 0;
            else least = used;
        }
    }

    void staircase(const LabelView &labels, const std::int32_t *group, std::size_t count, std::uint8_t *keep) {
        stairs_.clear();
        for (std::size_t i = 0; i < count; ++i) {
            const Amount *used = labels.used + std::size_t(group[i]) * 2;
            clock_.tick(8);
            if (stairs_.covers(used[0], used[1])) keep[group[i]] = 0;
            else stairs_.insert(used[0], used[1]);
        }
    }

    // A Fenwick tree over the rank of the first resource, of staircases in the other two.
    void tree(const LabelView &labels, const std::int32_t *group, std::size_t count, std::uint8_t *keep) {
        ranks_.resize(count);
        for (std::size_t i = 0; i < count; ++i) ranks_[i] = labels.used[std::size_t(group[i]) * 3];
        std::sort(ranks_.begin(), ranks_.end());
        ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
        if (tree_.size() <= ranks_.size()) tree_.resize(ranks_.size() + 1);
        for (std::size_t node = 1; node <= ranks_.size(); ++node) tree_[node].clear();
        for (std::size_t i = 0; i < count; ++i) {
            const Amount *used = labels.used + std::size_t(group[i]) * 3;
            clock_.tick(64);
            const std::size_t rank = 1 + std::size_t(std::lower_bound(ranks_.begin(), ranks_.end(), used[0]) - ranks_.begin());
            bool covered = false;
            for (std::size_t node = rank; node && !covered; node &= node - 1) covered = tree_[node].covers(used[1], used[2]);
            if (covered) {
                keep[group[i]] = 0;
                continue;
            }
            for (std::size_t node = rank; node <= ranks_.size(); node += node & (~node + 1))
                if (!tree_[node].covers(used[1], used[2])) tree_[node].insert(used[1], used[2]);
        }
    }

    // One by one against those kept; the last one that dominated moves up, as it tends to do so again.
    bool compare(const LabelView &labels, const std::int32_t *group, std::size_t count, std::uint8_t *keep) {
        const int K = labels.K;
        kept_.clear();
        std::size_t rows = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if ((i & 255) == 255 && clock_.passed()) return false;
            const Amount *used = labels.used + std::size_t(group[i]) * K;
            std::size_t dominators = 0;
            for (std::size_t row = 0; row < rows && dominators < copies_; ++row) {
                Amount *other = kept_.data() + row * K;
                bool covers = true;
                for (int k = 0; k < K; ++k) covers &= other[k] <= used[k];
                if (!covers) continue;
                ++dominators;
                if (copies_ == 1 && row > 1) std::swap_ranges(other, other + K, kept_.data() + row / 2 * K);
            }
            if (dominators >= copies_) {
                keep[group[i]] = 0;
                continue;
            }
            kept_.insert(kept_.end(), used, used + K);
            ++rows;
        }
        return true;
    }

    std::size_t copies_;
    bool ordered_;
    Clock &clock_;
    Staircase stairs_;
    std::vector<Staircase> tree_;
    Amounts ranks_, kept_;
};

}  // namespace tape
