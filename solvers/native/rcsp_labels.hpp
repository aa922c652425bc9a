// Label setting on what pruning left: paths from the source in the order of a lower bound on all their completions,
// dropped where a bound shows them useless or where as many others as are wanted are as good in everything.
#pragma once

#include <limits>

#include "rcsp_bounds.hpp"
#include "rcsp_shelf.hpp"

namespace tape::rcsp {

template <class Use> class Labels {
  public:
    // critical: names, sorted, of nodes that no path may visit twice. quick: with no bound but the cheapest way on, which
    // is soon made and enough where few paths are of interest.
    Labels(const Problem &problem, Pruner &pruner, const Indices &critical, bool quick, std::size_t most, Clock &clock)
        : problem_(problem), graph_(problem.graph), pruner_(pruner), clock_(clock), K_(problem.graph.resources),
          words_((int(critical.size()) + 63) / 64), quick_(quick), most_labels_(most), mark_(std::size_t(problem.graph.nodes), -1) {
        for (int v = 0; v < graph_.nodes; ++v) {
            const auto place = std::lower_bound(critical.begin(), critical.end(), graph_.name[v]);
            if (place != critical.end() && *place == graph_.name[v]) mark_[v] = int(place - critical.begin());
        }
        for (int k = 0; k < K_; ++k) {
            if (problem.limits(k)) limited_.push_back(k);
            if (problem.lower[k] > 0) lowered_.push_back(k);
        }
        prepare();
    }

    std::size_t made() const { return node_.size(); }
    bool too_wide() const { return wide_; }
    Score bound() const { return bound_; }  // no other path is cheaper, where the time ran out

    // Paths go to the pruner; false if the time ran out.
    bool run() {
        if (graph_.arcs() == 0 && graph_.source != graph_.target) return true;
        push(graph_.source, -1, -1, 0, nullptr);
        std::vector<Use> used(std::size_t(K_) + 1);
        const std::size_t pause = std::max(FIRST_LOOK, std::size_t(graph_.arcs()) / 4);
        std::size_t settled = 0, look = quick_ ? 0 : pause;
        while (!heap_.empty()) {
            const auto [key, label] = heap_.pop();
            if (most_cost_ < FAR && key > pruner_.unit() * (most_cost_ - 1)) break;  // so are all others
            if (pruner_.ceiling() <= problem_.enough) break;
            if ((++settled % 64 == 0 && clock_.passed()) || made() > most_labels_) {
                bound_ = least_cost(key);
                return false;
            }
            const int v = node_[label];
            if (v == graph_.target) {
                take(label);
                if (!goes_on_) continue;
            }
            if (dominated(v, label)) continue;
            shelve(v, label);
            if (settled == look) {
                look += std::max(pause, settled / 8);
                if (look_from(label)) sift();
            }
            const Use *const before = use_.data() + std::size_t(label) * K_;
            for (int k = 0; k < K_; ++k) used[k] = before[k];  // the store may move
            for (int a = graph_.out[v]; a < graph_.out[v + 1]; ++a) extend(label, a, used.data());
        }
        return true;
    }

    // Writes out the paths that were found, best first; to be called however `run` ended. Paths in circles may be too
    // long to write down: false if some were left out.
    bool write_out() {
        std::vector<Path> &found = pruner_.found();
        std::size_t written = 0;
        for (std::size_t i = 0; i < found.size(); ++i) {
            Path &path = found[i];
            if (path.claim >= 0) write_out(path);
            written += path.ids.size();
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
    static constexpr std::size_t MOST_WRITTEN = std::size_t{1} << 22;  // arcs of all paths together
    static constexpr Score MOST_KEY = FAR / 2;  // the share of a cost in a key
    static constexpr int LOOK_PASSES = 24;
    static constexpr std::size_t MOST_VIEWS = 60;

    // A bound on completions: of `unit` times the cost and of what is paid for use, from each node to the target; less
    // the payment for the limits and what the label paid. Without the cost (unit 0) it bounds the use alone.
    struct View {
        Score unit;
        Amounts price;
        Score payment;
        std::vector<Score> ahead;
    };

    // The bound at these prices, with or without the cost; `tree` gets the paths that it rests on.
    View view_of(const Amounts &price, bool costs, Tree &tree) {
        Prices prices = costs ? pruner_.priced(price) : pruner_.paid(price);
        grow<false>(graph_, prices.weight.data(), tree, grown_, Pulse(clock_));
        View view{costs ? pruner_.unit() : 0, price, prices.payment, std::move(prices.weight)};
        view.ahead.resize(graph_.nodes);
        const auto &potential = pruner_.potential();
        for (int v = 0; v < graph_.nodes; ++v) {
            const Score shift = potential.empty() || !costs ? 0 : potential[v] - potential[graph_.target];
            view.ahead[v] = tree.far[v] >= FAR / 2 ? FAR : tree.far[v] - shift;
        }
        return view;
    }

    // The most that a label may come to in a view, its completions bounded.
    Score limit_of(const View &view) const {
        if (view.unit == 0) return view.payment;
        return most_cost_ == FAR ? FAR - 1 : view.unit * (most_cost_ - 1) + view.payment;
    }

    Score key_in(const View &view, int v, Score cost, const Use *sum) const {
        Score key = view.unit * cost + view.ahead[v];
        if (sum)
            for (const int k : limited_) key += view.price[k] * Amount(sum[k]);
        return key;
    }

    void prepare() {
        Heap &heap = grown_;
        Tree tree;
        views_.push_back(view_of(pruner_.base(), true, base_tree_));
        if (!quick_) views_.push_back(view_of(pruner_.best(), true, tree_));
        if (!quick_ && limited_.size() > 1) views_.push_back(view_of(pruner_.fair(), false, tree));
        base_priced_ = pruner_.circles_pay();
        // The least that each resource needs to the target.
        rest_.assign(std::size_t(graph_.nodes) * K_, 0);
        for (int k = 0; k < K_ && !quick_; ++k) {
            grow<false>(graph_, graph_.used(k), tree, heap, Pulse(clock_));
            for (int v = 0; v < graph_.nodes; ++v)
                rest_[std::size_t(v) * K_ + k] = tree.far[v] >= FAR / 2 ? BEYOND : tree.far[v];
        }
        // The most, where there is no circle; for lower limits.
        if (!lowered_.empty() && !graph_.order.empty()) {
            most_.assign(std::size_t(graph_.nodes) * K_, 0);
            std::vector<Score> negated(std::size_t(graph_.arcs()));
            for (const int k : lowered_) {
                for (int a = 0; a < graph_.arcs(); ++a) negated[a] = -graph_.used(k)[a];
                grow<false>(graph_, negated.data(), tree, heap, Pulse(clock_));
                for (int v = 0; v < graph_.nodes; ++v)
                    most_[std::size_t(v) * K_ + k] = tree.far[v] >= FAR / 2 ? 0 : -tree.far[v];
            }
        }
        // Rows by arc: what an extension reads lies together.
        row_.resize(std::size_t(graph_.arcs()) * K_);
        for (int k = 0; k < K_; ++k)
            for (int a = 0; a < graph_.arcs(); ++a) row_[std::size_t(a) * K_ + k] = Use(graph_.used(k)[a]);
        shelves_.resize(graph_.nodes);
        // From a node on the cheapest path, where it keeps the limits, cannot be beaten.
        completes_ = problem_.wanted == 1 && words_ == 0 && !problem_.simple;
        if (completes_) {
            path_sums(base_tree_, path_cost_, path_use_);
            if (!quick_) path_sums(tree_, priced_cost_, priced_use_);
        }
        goes_on_ = graph_.out[graph_.target + 1] > graph_.out[graph_.target];
        narrow();
    }

    void path_sums(const Tree &tree, std::vector<Score> &cost, Amounts &use) const {
        cost.assign(graph_.nodes, 0);
        use.assign(std::size_t(graph_.nodes) * K_, 0);
        for (const int v : tree.settled) {
            const int a = tree.arc[v];
            if (a < 0) continue;
            const int next = graph_.head[a];
            cost[v] = cost[next] + graph_.cost[a];
            for (int k = 0; k < K_; ++k) use[std::size_t(v) * K_ + k] = use[std::size_t(next) * K_ + k] + graph_.used(k)[a];
        }
    }

    // A path was found: less is of interest now.
    void narrow() { most_cost_ = pruner_.ceiling(); }

    // Looks for prices that bound better from a label on: cutting planes as in `Pruner::dual`, seen from there. Without
    // any path in hand what matters is whether the limits can be kept at all. Returns whether there is a new view.
    bool look_from(int label) {
        const int v = node_[label], L = int(limited_.size());
        if (L == 0 || v == graph_.target) return false;
        const bool costs = most_cost_ < FAR;
        const Use *const used = use_.data() + std::size_t(label) * K_;
        std::vector<double> each(L), caps(L), slack(L), wish;
        const double scale = costs ? std::max(1.0, std::abs(double(most_cost_))) * double(pruner_.unit()) : 1e6;
        for (int i = 0; i < L; ++i) {
            const int k = limited_[i];
            each[i] = scale / double(std::max<Amount>(1, problem_.upper[k] - used[k]));
            caps[i] = std::min(costs ? 1e6 : 1.0, double(pruner_.most(k) - (costs ? pruner_.base()[k] : 0)) / each[i]);
        }
        Master master(L, caps);
        const Amounts none(std::size_t(K_), 0), &least = costs ? pruner_.base() : none;
        Amounts price = costs ? pruner_.best() : pruner_.fair();
        View best;
        double highest = -1e300, before = -1e300;
        Tree tree;
        for (int pass = 0; pass < LOOK_PASSES; ++pass) {
            clock_.tick(std::size_t(graph_.arcs()) * 2);
            View view = view_of(price, costs, tree);
            const double over = double(key_in(view, v, cost_[label], used) - limit_of(view));
            for (const View &other : views_)
                if (pass == 0 && (other.unit > 0) == costs)
                    before = std::max(before, double(key_in(other, v, cost_[label], used) - limit_of(other)));
            Score cost = cost_[label];
            Amounts sum(used, used + K_);
            for (int at = v; tree.arc[at] >= 0; at = graph_.head[tree.arc[at]]) {
                cost += graph_.cost[tree.arc[at]];
                for (int k = 0; k < K_; ++k) sum[k] += graph_.used(k)[tree.arc[at]];
            }
            const bool improved = over > highest;
            if (improved) {
                highest = over;
                best = std::move(view);
            }
            if (highest > 0) break;
            double value = costs ? double(pruner_.unit()) * double(cost - most_cost_ + 1) : 0;
            for (int i = 0; i < L; ++i) {
                const int k = limited_[i];
                slack[i] = double(problem_.upper[k] - sum[k]) * each[i] / scale;
                value -= double(least[k]) * double(problem_.upper[k] - sum[k]);
            }
            master.add(-value / scale, slack);
            const double aim = -master.solve(wish) * scale;
            if (aim - highest <= 1e-3 * std::abs(highest) + 1) break;
            for (int i = 0; i < L; ++i) {
                const int k = limited_[i];
                const double here = double(best.price[k] - least[k]), there = wish[i] * each[i];
                const double part = L == 1 || !improved ? 1.0 : 0.6;
                price[k] = least[k] + std::clamp<Amount>(Amount(std::llround(here + part * (there - here))), 0, pruner_.most(k) - least[k]);
            }
        }
        if (highest <= before + 1e-3 * std::abs(before)) return false;
        if (views_.size() >= MOST_VIEWS) views_.erase(views_.begin() + 3);
        views_.push_back(std::move(best));
        return true;
    }

    // Holds the open labels against all views again.
    void sift() {
        const auto open = heap_.take();
        for (const auto &[key, label] : open) {
            Score now;
            if (passes(node_[label], cost_[label], use_.data() + std::size_t(label) * K_, now)) heap_.push(now, label);
        }
    }

    // Whether no view shows a label to be useless; `key` gets the place in the order.
    bool passes(int v, Score cost, const Use *sum, Score &key) const {
        key = -FAR;
        for (const View &view : views_) {
            const Score one = key_in(view, v, cost, sum);
            if (one > limit_of(view)) return false;
            if (view.unit > 0) key = std::max(key, one - view.payment);
        }
        return true;
    }

    Score least_cost(Score key) const {
        const Score over = key, unit = pruner_.unit();
        return over >= 0 ? (over + unit - 1) / unit : -(-over / unit);
    }

    // Makes a label where nothing speaks against it.
    void extend(int parent, int arc, const Use *used) {
        const int v = graph_.head[arc];
        clock_.tick(16);
        if (views_[0].ahead[v] >= FAR) return;
        Score cost;
        if (__builtin_add_overflow(cost_[parent], graph_.cost[arc], &cost) || std::abs(cost) > MOST_KEY / pruner_.unit()) return void(wide_ = true);
        const Use *const row = row_.data() + std::size_t(arc) * K_;
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
        if (words_ > 0 && mark_[v] >= 0 && parent >= 0 && seen(parent, mark_[v])) return;
        push(v, parent, arc, cost, sum);
    }

    bool seen(int label, int mark) const { return seen_[std::size_t(label) * words_ + mark / 64] >> (mark % 64) & 1; }

    bool push(int v, int parent, int arc, Score cost, const Use *sum) {
        Score key;
        if (!passes(v, cost, sum, key)) return false;
        if (completes_ && v != graph_.target && sum && completed(v, parent, arc, cost, sum)) return false;
        const int label = int(node_.size());
        node_.push_back(v);
        parent_.push_back(parent);
        arc_.push_back(arc);
        cost_.push_back(cost);
        for (int k = 0; k < K_; ++k) use_.push_back(sum ? sum[k] : 0);
        for (int w = 0; w < words_; ++w) seen_.push_back(parent < 0 ? 0 : seen_[std::size_t(parent) * words_ + w]);
        if (mark_[v] >= 0) seen_[std::size_t(label) * words_ + mark_[v] / 64] |= std::uint64_t{1} << (mark_[v] % 64);
        if (arc >= 0 && dominated(v, label)) {
            drop_last();
            return false;
        }
        if (label % 4096 == 4095) clock_.require(label < (1 << 30) ? bytes() : std::numeric_limits<double>::max());
        heap_.push(key, label);
        return true;
    }

    void drop_last() {
        node_.pop_back();
        parent_.pop_back();
        arc_.pop_back();
        cost_.pop_back();
        use_.resize(use_.size() - K_);
        seen_.resize(seen_.size() - words_);
    }

    double bytes() const {
        return double(node_.capacity()) * (12 + 8 + 16 + double(K_) * sizeof(Use) + 8.0 * words_) + shelved_ +
               double(claims_.capacity()) * (sizeof(Claim) + sizeof(Path)) + 8.0 * double(graph_.nodes) * double(views_.size()) +
               double(graph_.nodes) * K_ * 24 + double(graph_.arcs()) * K_ * sizeof(Use);
    }

    // Whether nothing more is to be had from here: the cheapest path on keeps the limits. It is offered, and so is the
    // path that the prices suggest.
    bool completed(int v, int parent, int arc, Score cost, const Use *sum) {
        const auto keeps = [&](const Amounts &rest) {
            const Amount *const more = rest.data() + std::size_t(v) * K_;
            for (int k = 0; k < K_; ++k) {
                const Amount used = Amount(sum[k]) + more[k];
                if ((problem_.limits(k) && used > problem_.upper[k]) || used < problem_.lower[k]) return false;
            }
            return true;
        };
        if (!base_priced_ && keeps(path_use_)) {
            if (cost + path_cost_[v] < pruner_.ceiling()) complete(base_tree_, v, parent, arc, cost + path_cost_[v]);
            return true;
        }
        if (!priced_cost_.empty() && cost + priced_cost_[v] < pruner_.ceiling() && keeps(priced_use_))
            complete(tree_, v, parent, arc, cost + priced_cost_[v]);
        return false;
    }

    void complete(const Tree &tree, int v, int parent, int arc, Score cost) { claim({v, parent, arc, &tree}, cost); }

    // The label stands at the target.
    void take(int label) {
        for (const int k : lowered_)
            if (Amount(use_[std::size_t(label) * K_ + k]) < problem_.lower[k]) return;
        if (cost_[label] < pruner_.ceiling()) claim({graph_.target, parent_[label], arc_[label], nullptr}, cost_[label]);
    }

    // A path of this cost: to a label, on along an arc to a node, and from there along a tree. Many may be found, each
    // better than the one before, so only those that stay are written out.
    struct Claim {
        int node, label, arc;
        const Tree *tree;
    };

    void write_out(Path &path) {
        const Claim &one = claims_[path.claim];
        path.claim = -1;
        if (one.arc >= 0) path.ids.push_back(graph_.id[one.arc]);
        for (int label = one.label; label >= 0 && arc_[label] >= 0 && path.ids.size() <= MOST_WRITTEN; label = parent_[label])
            path.ids.push_back(graph_.id[arc_[label]]);
        std::reverse(path.ids.begin(), path.ids.end());
        for (int v = one.node; one.tree && one.tree->arc[v] >= 0; v = graph_.head[one.tree->arc[v]])
            path.ids.push_back(graph_.id[one.tree->arc[v]]);
    }

    void claim(const Claim &one, Score cost) {
        claims_.push_back(one);
        Path path;
        path.cost = cost;
        path.claim = int(claims_.size()) - 1;
        pruner_.offer(std::move(path));
        narrow();
    }

    // Whether as many labels at the node as are wanted are as good as this one in everything.
    bool dominated(int v, int label) {
        Shelf<Use> &shelf = shelves_[v];
        const Use *const mine = use_.data() + std::size_t(label) * K_;
        const Score cost = cost_[label];
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
                    if (++better < problem_.wanted) continue;
                    shelf.lucky = block;
                    return true;
                }
            return false;
        };
        if (lucky > 0 && look(lucky, lucky + 1)) return true;
        return look(0, blocks);
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
    Pruner &pruner_;
    Clock &clock_;
    int K_, words_;
    bool quick_;
    std::size_t most_labels_;
    Indices mark_, limited_, lowered_;
    Amounts rest_, most_, path_use_, priced_use_;
    std::vector<Score> path_cost_, priced_cost_;
    Tree tree_, base_tree_;
    std::vector<View> views_;  // first the cost, then the best prices from the source, then use alone; then others
    Score most_cost_ = FAR, bound_ = -FAR;
    bool base_priced_ = false, completes_ = false, goes_on_ = true, wide_ = false;
    std::vector<Use> row_, use_;
    Indices node_, parent_, arc_;
    std::vector<Score> cost_;
    std::vector<std::uint64_t> seen_;
    std::vector<Shelf<Use>> shelves_;
    double shelved_ = 0;  // bytes
    std::vector<Claim> claims_;
    Heap heap_, grown_;
};

}  // namespace tape::rcsp
