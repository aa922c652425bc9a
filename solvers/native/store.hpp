// The labels that were made: where they stand, what they cost and used, and which of them are worth going on with.
#pragma once

#include <limits>

#include "prices.hpp"
#include "shelf.hpp"

namespace tape {

// How labels are set.
struct Manner {
    bool quick = false;    // with no bound but the cheapest way on, which is soon made and enough where few are of interest
    bool ordered = false;  // of equal costs the smallest edges count, and come first
    std::size_t most = std::size_t(-1);  // labels
    std::size_t width = 0;               // of the beam that goes before, for paths to beat
};

template <class Use> class Store {
  public:
    std::size_t made() const { return node_.size(); }

  protected:
    static constexpr std::size_t MOST_WRITTEN = std::size_t{1} << 22;  // arcs of all paths together

    // critical: names, sorted, of nodes that no path may visit twice. ordered: of labels of equal cost that of smaller
    // edges counts more.
    Store(const Problem &problem, const Indices &critical, bool ordered)
        : problem_(problem), graph_(problem.graph), K_(problem.moves.resources), words_((int(critical.size()) + 63) / 64),
          ordered_(ordered), mark_(std::size_t(problem.graph.nodes), -1), shelves_(std::size_t(problem.graph.nodes)) {
        for (int v = 0; v < graph_.nodes && words_; ++v) {
            const auto place = std::lower_bound(critical.begin(), critical.end(), graph_.name[v]);
            if (place != critical.end() && *place == graph_.name[v]) mark_[v] = int(place - critical.begin());
        }
        for (int k = 0; k < K_; ++k) {
            if (problem.limits(k)) limited_.push_back(k);
            if (problem.lower[k] > 0) lowered_.push_back(k);
        }
        for (int v = 0; v < graph_.nodes && ordered_; ++v)
            while (graph_.out[v + 1] - graph_.out[v] > (1 << bits_)) ++bits_;
    }

    // One more label; `sum`: what it used, null for nothing.
    int add(int v, int parent, int arc, Cost cost, const Use *sum) {
        const int label = int(node_.size());
        node_.push_back(v);
        parent_.push_back(parent);
        arc_.push_back(arc);
        cost_.push_back(cost);
        for (int k = 0; k < K_; ++k) use_.push_back(sum ? sum[k] : 0);
        for (int w = 0; w < words_; ++w) seen_.push_back(parent < 0 ? 0 : seen_[std::size_t(parent) * words_ + w]);
        if (ordered_) begun_.push_back(begun(parent, arc));
        if (mark_[v] >= 0) seen_[std::size_t(label) * words_ + mark_[v] / 64] |= std::uint64_t{1} << (mark_[v] % 64);
        return label;
    }

    void drop_last() {
        node_.pop_back();
        parent_.pop_back();
        arc_.pop_back();
        cost_.pop_back();
        use_.resize(use_.size() - K_);
        seen_.resize(seen_.size() - words_);
        if (ordered_) begun_.pop_back();
    }

    // Forgets all labels.
    void clear() {
        shelves_.assign(std::size_t(graph_.nodes), {});
        shelved_ = 0;
        for (auto *one : {&node_, &parent_, &arc_}) one->clear();
        cost_.clear();
        use_.clear();
        seen_.clear();
        begun_.clear();
        claims_.clear();
    }

    double bytes() const {
        return double(node_.capacity()) * (12 + 8 + 16 + double(K_) * sizeof(Use) + 8.0 * words_ + 16.0 * ordered_) + shelved_ +
               double(claims_.capacity()) * (sizeof(Claim) + sizeof(Path));
    }

    int edge_of(int a) const { return problem_.moves.edge[graph_.move[a]]; }

    // A path of this cost: to a label, on along an arc to a node, and from there along a tree. Many may be found, each
    // better than the one before, so only those that stay are written out, but where their edges are compared.
    struct Claim {
        int node, label, arc;
        const Tree *tree;
    };

    void spell_out(Path &path) const {
        const Claim &one = claims_[path.claim];
        path.claim = -1;
        if (one.arc >= 0) path.edges.push_back(edge_of(one.arc));
        for (int label = one.label; label >= 0 && arc_[label] >= 0 && path.edges.size() <= MOST_WRITTEN; label = parent_[label])
            path.edges.push_back(edge_of(arc_[label]));
        std::reverse(path.edges.begin(), path.edges.end());
        for (int v = one.node; one.tree && one.tree->arc[v] >= 0; v = graph_.head[one.tree->arc[v]])
            path.edges.push_back(edge_of(one.tree->arc[v]));
    }

    Path way_to(int label) const {
        Path path;
        path.cost = cost_[label];
        for (; arc_[label] >= 0; label = parent_[label]) path.edges.push_back(edge_of(arc_[label]));
        std::reverse(path.edges.begin(), path.edges.end());
        return path;
    }

    bool seen(int label, int mark) const { return seen_[std::size_t(label) * words_ + mark / 64] >> (mark % 64) & 1; }

    // Whether as many labels at the node as are wanted are as good as this one in everything.
    bool dominated(int v, int label) {
        Shelf<Use> &shelf = shelves_[v];
        const Use *const mine = use_.data() + std::size_t(label) * K_;
        const Cost cost = cost_[label];
        const int blocks = (shelf.count + LANES - 1) / LANES, lucky = problem_.wanted == 1 ? shelf.lucky : 0;
        std::size_t better = 0;
        Use fine[LANES];
        const auto look = [&](int from, int to) {
            for (int block = from; (block = scan(shelf.used.data(), block, to, K_, limited_.data(), int(limited_.size()), mine, fine)) < to; ++block)
                for (int l = 0; l < LANES && block * LANES + l < shelf.count; ++l) {
                    const int other = block * LANES + l;
                    if (!fine[l] || shelf.cost[other] > cost) continue;
                    if (!fits(v, shelf.used.data() + std::size_t(block) * K_ * LANES, l, mine)) continue;
                    if (words_ > 0 && !subset(shelf.label[other], label)) continue;
                    if (ordered_ && shelf.cost[other] == cost && !before(shelf.label[other], label)) continue;
                    if (++better < problem_.wanted) continue;
                    shelf.lucky = block;
                    return true;
                }
            return false;
        };
        if (lucky > 0 && look(lucky, lucky + 1)) return true;
        return look(0, blocks);
    }

    // The first moves of a label as a number, each by its place among those that leave its node: of two labels the one of
    // the smaller number has the smaller edges.
    struct Begun {
        std::uint64_t code = 0;
        int left = 64;  // bits
    };

    Begun begun(int parent, int arc) const {
        return parent < 0 ? Begun{} : begun(begun_[parent], node_[parent], arc);
    }

    Begun begun(Begun now, int v, int arc) const {
        if (now.left < bits_) return {now.code, 0};
        now.left -= bits_;
        now.code |= std::uint64_t(arc - graph_.out[v]) << now.left;
        return now;
    }

    // Whether the edges of one label come before those of another that costs the same, so made as many moves.
    bool before(int one, int other) const {
        if (begun_[one].code != begun_[other].code) return begun_[one].code < begun_[other].code;
        int first = arc_[one], second = arc_[other];
        while (parent_[one] != parent_[other]) {
            one = parent_[one];
            other = parent_[other];
            if (one < 0 || other < 0) return false;
            first = arc_[one];
            second = arc_[other];
        }
        return first < second;
    }

    // Whether a label keeps the lower limits wherever the other one does.
    bool fits(int v, const Use *block, int lane, const Use *mine) const {
        for (const int k : lowered_) {
            const Amount theirs = block[std::size_t(k) * LANES + lane];
            if (theirs < Amount(mine[k]) && theirs + rest_[std::size_t(v) * K_ + k] < problem_.lower[k]) return false;
        }
        return true;
    }

    bool subset(int one, int other) const {
        for (int w = 0; w < words_; ++w)
            if (seen_[std::size_t(one) * words_ + w] & ~seen_[std::size_t(other) * words_ + w]) return false;
        return true;
    }

    void shelve(int v, int label) {
        Shelf<Use> &shelf = shelves_[v];
        const int lane = shelf.count++ % LANES;
        if (lane == 0) shelved_ += double(K_) * LANES * sizeof(Use);
        shelved_ += 12;
        if (lane == 0) shelf.used.resize(shelf.used.size() + std::size_t(K_) * LANES, std::numeric_limits<Use>::max());
        Use *const block = shelf.used.data() + shelf.used.size() - std::size_t(K_) * LANES;
        for (int k = 0; k < K_; ++k) block[std::size_t(k) * LANES + lane] = use_[std::size_t(label) * K_ + k];
        shelf.cost.push_back(cost_[label]);
        shelf.label.push_back(label);
    }

    const Problem &problem_;
    const Graph &graph_;
    int K_, words_;
    bool ordered_;
    Indices mark_, limited_, lowered_;
    Amounts rest_;  // [nodes x resources] the least that is used from each node on
    std::vector<Use> use_;
    Indices node_, parent_, arc_;
    Costs cost_;
    std::vector<std::uint64_t> seen_;
    std::vector<Claim> claims_;

  private:
    std::vector<Shelf<Use>> shelves_;
    double shelved_ = 0;  // bytes

  protected:
    std::vector<Begun> begun_;  // of each label, where their edges are compared
    int bits_ = 1;              // that the place of any move takes
};

}  // namespace tape
