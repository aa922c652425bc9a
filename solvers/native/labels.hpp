// Label setting on what pruning left: paths from the source in the order of a lower bound on all their completions,
// dropped where a bound shows them useless or where as many others as are wanted are as good in everything.
#pragma once

#include "bounds.hpp"
#include "store.hpp"

namespace tape {

template <class Use> class Labels : public Store<Use> {
    using Stored = Store<Use>;
    using typename Stored::Begun, typename Stored::Claim;
    using Stored::K_, Stored::MOST_WRITTEN, Stored::add, Stored::arc_, Stored::before, Stored::begun, Stored::begun_, Stored::bits_, Stored::claims_, Stored::cost_,
        Stored::dominated, Stored::drop_last, Stored::edge_of, Stored::graph_, Stored::limited_, Stored::lowered_, Stored::mark_,
        Stored::node_, Stored::parent_, Stored::problem_, Stored::rest_, Stored::seen, Stored::shelve, Stored::use_,
        Stored::way_to, Stored::words_, Stored::spell_out;

  public:
    // critical: as for `Store`.
    Labels(const Problem &problem, Pruner &pruner, const Indices &critical, const Manner &manner, Clock &clock)
        : Stored(problem, critical, manner.ordered), pruner_(pruner), clock_(clock), manner_(manner), views_(pruner.views) {
        prepare();
    }

    using Stored::made;
    bool too_wide() const { return wide_; }
    Cost bound() const { return bound_; }  // no other path is cheaper, where the time ran out

    // Paths go to the pruner; false if the time ran out.
    bool run() {
        if (graph_.empty()) return true;
        if (manner_.width && beam()) return false;
        push(graph_.source, -1, -1, 0, nullptr);
        const std::size_t pause = std::max(FIRST_LOOK, std::size_t(graph_.arcs()) / 4);
        std::size_t settled = 0, look = manner_.quick ? 0 : pause;
        while (!heap_.empty()) {
            const auto [key, label] = manner_.ordered ? heap_.pop(Smallest{begun_}) : heap_.pop();
            if (most_cost_ < FAR / 4 && key > pruner_.unit() * most_cost_) break;  // so are all others
            if (pruner_.found.full() && pruner_.found.ceiling() <= problem_.enough) break;
            if ((++settled % 64 == 0 && clock_.passed()) || made() > manner_.most) {
                bound_ = least_cost(key);
                return false;
            }
            const int v = node_[label];
            if (comes_late(key, label) || dominated(v, label)) continue;
            shelve(v, label);
            if (settled == look) {
                look += std::max(pause, settled / 8);
                if (look_from(label)) sift();
            }
            extend(label);
        }
        return true;
    }

    // Writes out the paths that were found, best first; to be called however `run` ended. Paths in circles may be too
    // long to write down: false if some were left out.
    bool write_out() {
        std::vector<Path> &found = pruner_.found.paths();
        std::size_t written = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            Path &path = found[i];
            if (path.claim >= 0) spell_out(path);
            written += path.edges.size();
            clock_.passed();  // Ctrl-C ends this, too
            if (written <= MOST_WRITTEN) continue;
            bound_ = std::max(bound_, path.cost);
            found.resize(i);
            return false;
        }
        return true;
    }

  private:
    static constexpr std::size_t FIRST_LOOK = 256;
    static constexpr Cost MOST_KEY = FAR / 2;  // the share of a cost in a key
    static constexpr int LOOK_PASSES = 24, BEAM_PASSES = 6;
    static constexpr std::size_t LOOKS = 24;  // from labels of a beam
    static constexpr int MANY_TO_LOOK = 250'000;  // arcs of which each look takes too long
    static constexpr std::size_t FIRST_VIEWS = 3, MOST_VIEWS = 60;

    // The bound at these prices, with or without the cost; `tree` gets the ways that it rests on.
    View view_of(const Amounts &price, bool costs, Weights &weights, Tree &tree) {
        weights = pruner_.priced(price, costs);
        to_end(graph_, weights, tree, grown_, Pulse(clock_));
        View view{costs ? pruner_.unit() : 0, price, weights.payment, Costs(std::size_t(graph_.nodes))};
        for (int v = 0; v < graph_.nodes; ++v)
            view.ahead[v] = tree.far[v] >= FAR / 2 ? FAR : tree.far[v] - weights.arriving(v);
        return view;
    }

    // The most that a label may come to in a view, its completions bounded.
    Cost limit_of(const View &view) const {
        if (view.unit == 0) return view.payment;
        return most_cost_ >= FAR / 4 ? FAR - 1 : view.unit * most_cost_ + view.payment;
    }

    Cost key_in(const View &view, int v, Cost cost, const Use *sum) const {
        Cost key = view.key(v, cost);
        if (sum)
            for (const int k : limited_) key += view.price[k] * Amount(sum[k]);
        return key;
    }

    void prepare() {
        Tree tree;
        Weights weights;
        std::vector<View> first;
        first.push_back(view_of(pruner_.base(), true, base_weights_, base_tree_));
        if (!manner_.quick) first.push_back(view_of(pruner_.best(), true, weights_, tree_));
        if (!manner_.quick && limited_.size() > 1) first.push_back(view_of(pruner_.fair(), false, weights, tree));
        views_.erase(views_.begin(), views_.begin() + std::ptrdiff_t(std::min(views_.size(), FIRST_VIEWS)));
        views_.insert(views_.begin(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
        base_priced_ = pruner_.circles_pay();
        // The least that each resource needs to the end.
        rest_.assign(std::size_t(graph_.nodes) * K_, 0);
        for (int k = 0; k < K_ && !manner_.quick; ++k) {
            const Costs *far = pruner_.need(k);
            if (!far) {
                to_end(graph_, pruner_.using_only(k), tree, grown_, Pulse(clock_));
                far = &tree.far;
            }
            for (int v = 0; v < graph_.nodes; ++v) rest_[std::size_t(v) * K_ + k] = std::min((*far)[v], BEYOND);
        }
        // The most, where there is no circle; for lower limits.
        if (!lowered_.empty() && graph_.sorted) {
            most_.assign(std::size_t(graph_.nodes) * K_, 0);
            for (const int k : lowered_) {
                weights = pruner_.using_only(k);
                for (Cost &one : weights.move) one = -one;
                to_end(graph_, weights, tree, grown_, Pulse(clock_));
                for (int v = 0; v < graph_.nodes; ++v)
                    most_[std::size_t(v) * K_ + k] = tree.far[v] >= FAR / 2 ? 0 : -tree.far[v];
            }
        }
        row_.resize(std::size_t(problem_.moves.count()) * K_);
        for (std::size_t i = 0; i < row_.size(); ++i) row_[i] = Use(problem_.moves.use[i]);
        // From a node on the cheapest path, where it keeps the limits, cannot be beaten.
        completes_ = problem_.wanted == 1 && words_ == 0 && !problem_.simple && !manner_.ordered;
        if (completes_) {
            pruner_.path_sums(base_weights_, base_tree_, path_cost_, path_use_);
            if (!manner_.quick) pruner_.path_sums(weights_, tree_, priced_cost_, priced_use_);
        }
        narrow();
    }

    // A path was found: less is of interest now.
    void narrow() {
        most_cost_ = pruner_.found.interest(manner_.ordered);
        if (!manner_.ordered || !pruner_.found.full()) return;
        Begun last;
        int v = graph_.source;
        for (const int edge : pruner_.found.paths().back().edges) {
            int a = graph_.out[v];
            while (a < graph_.out[v + 1] && edge_of(a) != edge) ++a;
            if (a == graph_.out[v + 1] || last.left < bits_) break;  // what follows makes the number greater, if anything
            last = begun(last, v, a);
            v = graph_.head[a];
        }
        last_code_ = last.code | (last.left == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << last.left) - 1);
    }

    // Whether the paths that begin so cost as much as the last of those found at best, and have greater edges.
    bool comes_late(Cost key, int label) const {
        return manner_.ordered && pruner_.found.full() && begun_[label].code > last_code_ && least_cost(key) >= most_cost_;
    }

    // Looks for prices that bound better from a label on: cutting planes as in `Pruner::dual`, seen from there. Without
    // any path in hand what matters is whether the limits can be kept at all. Returns whether there is a new view.
    bool look_from(int label, int passes = LOOK_PASSES) {
        const int v = node_[label];
        if (limited_.empty()) return false;
        const bool costs = pruner_.found.full() || problem_.ceiling < FAR;
        const Use *const used = use_.data() + std::size_t(label) * K_;
        const Dive begun{way_to(label), Amounts(used, used + K_), false};
        const double scale = costs ? std::max(1.0, std::abs(double(most_cost_))) * double(pruner_.unit()) : 1e6;
        const Amounts none(std::size_t(K_), 0);
        Amounts room(problem_.upper), price = costs ? pruner_.best() : pruner_.fair();
        for (const int k : limited_) room[k] -= used[k];
        Cuts cuts(scale, costs ? 1e6 : 1.0, limited_, room, costs ? pruner_.base() : none, pruner_.most());
        View best;
        double highest = -1e300, before = -1e300;
        Tree tree;
        Weights weights;
        for (int pass = 0; pass < passes; ++pass) {
            View view = view_of(price, costs, weights, tree);
            const double over = double(key_in(view, v, cost_[label], used) - limit_of(view));
            for (const View &other : views_)
                if (pass == 0 && (other.unit > 0) == costs)
                    before = std::max(before, double(key_in(other, v, cost_[label], used) - limit_of(other)));
            const Dive seen = pruner_.dive(weights, tree, false, v, begun);
            offer(seen);
            if (!seen.keeps && graph_.sorted && pruner_.need(limited_.front())) offer(pruner_.dive(weights, tree, true, v, begun));
            const bool improved = over > highest;
            if (improved) {
                highest = over;
                best = std::move(view);
            }
            if (highest > 0) break;
            cuts.add(costs ? double(pruner_.unit()) * double(seen.path.cost - most_cost_) : 0, seen.used, problem_.upper);
            if (cuts.aim() - highest <= 1e-3 * std::abs(highest) + 1) break;
            cuts.next(best.price, improved, price);
        }
        if (highest <= before + 1e-3 * std::abs(before)) return false;
        if (views_.size() >= MOST_VIEWS) views_.erase(views_.begin() + FIRST_VIEWS);
        views_.push_back(std::move(best));
        return true;
    }

    void offer(const Dive &seen) {
        if (!seen.keeps || (problem_.wanted > 1 && !manner_.ordered) || problem_.simple) return;
        pruner_.found.offer(seen.path, manner_.ordered);
        narrow();
    }

    // Of labels with one key that of the smallest edges first, of those the one made last: so it is one path after another,
    // in order, and the k best ties are found before all others are begun.
    struct Smallest {
        const std::vector<Begun> &begun;
        bool operator()(const Heap::Entry &one, const Heap::Entry &other) const {
            if (one.first != other.first) return one.first < other.first;
            const std::uint64_t mine = begun[one.second].code, theirs = begun[other.second].code;
            return mine != theirs ? mine < theirs : one.second > other.second;
        }
    };

    void open(Cost key, int label) {
        if (manner_.ordered) heap_.push(key, label, Smallest{begun_});
        else heap_.push(key, label);
    }

    // Holds the open labels against all views again.
    void sift() {
        const auto waiting = heap_.take();
        for (const auto &[key, label] : waiting) {
            Cost now;
            if (passes(node_[label], cost_[label], use_.data() + std::size_t(label) * K_, now)) open(now, label);
        }
    }

    // Whether no view shows a label to be useless; `key` gets the place in the order.
    bool passes(int v, Cost cost, const Use *sum, Cost &key) const {
        key = -FAR;
        for (const View &view : views_) {
            const Cost one = key_in(view, v, cost, sum);
            if (one > limit_of(view)) return false;
            if (view.unit > 0) key = std::max(key, one - view.payment);
        }
        return true;
    }

    // Labels move by move, of which only so many stay, half of them the best of their nodes: those of one node are much
    // alike. What it finds is worth more than the labels, which are forgotten. Whether it found a path for which so large a
    // graph is better pruned first.
    bool beam() {
        const Cost before = most_cost_;
        Indices seen(std::size_t(graph_.nodes), -1), best;
        push(graph_.source, -1, -1, 0, nullptr);
        for (int turn = 0; !heap_.empty() && !clock_.passed(); ++turn) {
            auto grown = heap_.take();
            std::sort(grown.begin(), grown.end());
            Indices kept;
            for (const std::size_t most : {manner_.width / 2, manner_.width})
                for (auto &[key, label] : grown) {
                    if (kept.size() >= most) break;
                    if (label < 0 || (most < manner_.width && seen[node_[label]] == turn)) continue;
                    const int v = node_[label], one = std::exchange(label, -1);
                    seen[v] = turn;
                    if (dominated(v, one)) continue;
                    shelve(v, one);
                    kept.push_back(one);
                }
            for (const int label : kept) extend(label);
            for (std::size_t i = 0; i < 3 && !kept.empty(); ++i) best.push_back(kept[i * kept.size() / 3]);
        }
        double worth = 100e3 + 600.0 * double(made());  // basic steps that looks may take
        const bool prune = most_cost_ < before && graph_.arcs() > MANY_TO_LOOK;
        for (std::size_t i = 0; i < LOOKS && !best.empty() && !prune && (worth -= 8.0 * graph_.arcs()) > 0; ++i)
            look_from(best[best.size() * i / LOOKS], BEAM_PASSES);
        for (Path &path : pruner_.found.paths())
            if (path.claim >= 0) spell_out(path);
        heap_.clear();
        Stored::clear();
        return prune;
    }

    Cost least_cost(Cost key) const {
        const Cost over = key, unit = pruner_.unit();
        return over >= 0 ? (over + unit - 1) / unit : -(-over / unit);
    }

    void extend(int label) {
        Use used[64];
        std::copy_n(use_.data() + std::size_t(label) * K_, K_, used);  // the store may move
        const int v = node_[label], begin = graph_.out[v], end = graph_.out[v + 1];
        if (manner_.ordered)  // the last that is made is the first to be gone on with
            for (int a = end; a-- > begin;) extend(label, a, used);
        else
            for (int a = begin; a < end; ++a) extend(label, a, used);
    }

    // Makes a label where nothing speaks against it.
    void extend(int parent, int arc, const Use *used) {
        const int v = graph_.head[arc];
        clock_.tick(16);
        if (views_[0].ahead[v] >= FAR) return;
        Cost cost;
        if (__builtin_add_overflow(cost_[parent], pruner_.cost_of(arc), &cost) || std::abs(cost) > MOST_KEY / pruner_.unit()) return void(wide_ = true);
        const Use *const row = row_.data() + std::size_t(graph_.move[arc]) * K_;
        const Amount *const rest = rest_.data() + std::size_t(v) * K_;
        Use sum[64];
        for (int k = 0; k < K_; ++k) sum[k] = Use(used[k] + row[k]);
        for (const int k : limited_)
            if (Amount(sum[k]) + rest[k] > problem_.upper[k]) return;
        for (const int k : lowered_) {
            if (!most_.empty() && Amount(sum[k]) + most_[std::size_t(v) * K_ + k] < problem_.lower[k]) return;
            if (!problem_.limits(k)) sum[k] = Use(std::min<Amount>(sum[k], problem_.lower[k]));
        }
        for (int k = 0; k < K_; ++k)
            if (!problem_.limits(k) && problem_.lower[k] == 0) sum[k] = 0;  // limits nothing
        if (!problem_.keeps_chances(sum, rest)) return;
        if (words_ > 0 && mark_[v] >= 0 && seen(parent, mark_[v])) return;
        push(v, parent, arc, cost, sum);
    }

    void push(int v, int parent, int arc, Cost cost, const Use *sum) {
        Cost key;
        if (!passes(v, cost, sum, key)) return;
        if (graph_.ends(v)) end_at(v, parent, arc, cost, sum);
        if (graph_.out[v] == graph_.out[v + 1]) return;
        if (completes_ && sum && completed(v, parent, arc, cost, sum)) return;
        const int label = add(v, parent, arc, cost, sum);
        if (arc >= 0 && !manner_.ordered && dominated(v, label)) {
            drop_last();
            return;
        }
        if (label % 4096 == 4095) clock_.require(label < (1 << 30) ? bytes() : std::numeric_limits<double>::max());
        open(key, label);
    }

    double bytes() const {
        return Stored::bytes() + 8.0 * double(graph_.nodes) * double(views_.size()) + double(graph_.nodes) * K_ * 24 + graph_.bytes() + bytes_of(row_);
    }

    bool within(const Use *sum, const Amount *more) const {
        Amount used[64];
        for (int k = 0; k < K_; ++k) used[k] = Amount(sum ? sum[k] : 0) + (more ? more[k] : 0);
        return problem_.keeps(used);
    }

    // Whether nothing more is to be had from here: the cheapest path on keeps the limits. It is offered, and so is the
    // path that the prices suggest.
    bool completed(int v, int parent, int arc, Cost cost, const Use *sum) {
        const std::size_t at = std::size_t(v) * K_;
        if (!base_priced_ && within(sum, path_use_.data() + at)) {
            claim({v, parent, arc, &base_tree_}, cost + path_cost_[v]);
            return true;
        }
        if (!priced_cost_.empty() && cost + priced_cost_[v] <= most_cost_ && within(sum, priced_use_.data() + at))
            claim({v, parent, arc, &tree_}, cost + priced_cost_[v]);
        return false;
    }

    // A path may end where the label stands.
    void end_at(int v, int parent, int arc, Cost cost, const Use *sum) {
        const Cost total = cost + graph_.finish[v];
        if (total <= most_cost_ && within(sum, nullptr)) claim({v, parent, arc, nullptr}, total);
    }

    void claim(const Claim &one, Cost cost) {
        if (cost > most_cost_) return;
        claims_.push_back(one);
        Path path;
        path.cost = cost;
        path.claim = int(claims_.size()) - 1;
        if (manner_.ordered) {
            spell_out(path);
            claims_.pop_back();
        }
        pruner_.found.offer(std::move(path), manner_.ordered);
        narrow();
    }

    Pruner &pruner_;
    Clock &clock_;
    Manner manner_;
    Amounts most_, path_use_, priced_use_;
    Costs path_cost_, priced_cost_;
    Weights weights_, base_weights_;
    Tree tree_, base_tree_;
    std::vector<View> &views_;  // first the cost, then the best prices from the source, then use alone; then others
    Cost most_cost_ = FAR, bound_ = -FAR;
    bool base_priced_ = false, completes_ = false, wide_ = false;
    std::vector<Use> row_;
    std::uint64_t last_code_ = 0;  // not less than the last of the paths found has, where as many as wanted are
    Heap heap_, grown_;
};

}  // namespace tape
