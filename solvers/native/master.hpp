// The master problem of the Lagrangian dual: the prices at which the paths seen so far look least attractive.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "types.hpp"

namespace tape {

// minimise over prices 0 <= p_k <= cap_k:  max over columns i of  value_i + sum_k p_k * slack_ik
//
// Solved as its dual, a linear programme with one row a resource and one for convexity, by the primal simplex method
// with an explicit inverse of the basis. K is tiny, so everything is dense. Amounts and values are scaled to about 1.
class Master {
  public:
    Master(int resources, std::vector<double> caps) : K_(resources), caps_(std::move(caps)) {}

    // A path: its value, and for each resource the budget less what it uses, both scaled.
    void add(double value, const std::vector<double> &slack) {
        values_.push_back(value);
        slacks_.insert(slacks_.end(), slack.begin(), slack.end());
        if (values_.size() == 1) begin();
    }

    // Solves; `prices` are the optimal ones, the value returned is the optimum (a lower bound on the dual).
    double solve(std::vector<double> &prices) {
        const int m = K_ + 1;
        std::vector<double> y(m), d(m);
        for (int pivots = 0; pivots < 200; ++pivots) {
            for (int j = 0; j < m; ++j) {
                y[j] = 0;
                for (int i = 0; i < m; ++i) y[j] += gain_of(basis_[i]) * inverse_[i * m + j];
            }
            int entering = -1;
            double best = 1e-10;
            const int all = 2 * K_ + int(values_.size());
            for (int c = 0; c < all; ++c) {
                double reduced = gain_of(c);
                for (int i = 0; i < m; ++i) reduced -= y[i] * entry(i, c);
                if (reduced > best) {
                    best = reduced;
                    entering = c;
                }
            }
            if (entering < 0) break;
            int leaving = -1;
            double least = 0;
            for (int i = 0; i < m; ++i) {
                d[i] = 0;
                for (int j = 0; j < m; ++j) d[i] += inverse_[i * m + j] * entry(j, entering);
                if (d[i] > 1e-11 && (leaving < 0 || level_[i] / d[i] < least)) {
                    leaving = i;
                    least = level_[i] / d[i];
                }
            }
            if (leaving < 0) break;
            pivot(leaving, entering, d);
        }
        prices.assign(K_, 0);
        for (int k = 0; k < K_; ++k) prices[k] = std::min(std::max(-y[k], 0.0), caps_[k]);
        return y[K_];
    }

  private:
    // Columns 0..K-1: paying a cap for one unit more of a resource. K..2K-1: leaving a unit unused. Then the paths.
    // Row k: sum of slack_ik * weight_i + bought_k - unused_k = 0. The last row: weights sum to 1.
    double gain_of(int c) const { return c < K_ ? -caps_[c] : c < 2 * K_ ? 0 : values_[c - 2 * K_]; }

    double entry(int row, int c) const {
        if (c < K_) return row == c;
        if (c < 2 * K_) return -(row == c - K_);
        return row == K_ ? 1 : slacks_[std::size_t(c - 2 * K_) * K_ + row];
    }

    void begin() {
        const int m = K_ + 1;
        basis_.resize(m);
        level_.resize(m);
        inverse_.assign(m * m, 0);
        for (int k = 0; k < K_; ++k) {
            const bool over = slacks_[k] < 0;
            basis_[k] = over ? k : K_ + k;
            level_[k] = std::abs(slacks_[k]);
            inverse_[k * m + k] = over ? 1 : -1;
            inverse_[k * m + K_] = over ? -slacks_[k] : slacks_[k];
        }
        basis_[K_] = 2 * K_;
        level_[K_] = 1;
        inverse_[K_ * m + K_] = 1;
    }

    void pivot(int leaving, int entering, const std::vector<double> &d) {
        const int m = K_ + 1;
        for (int j = 0; j < m; ++j) inverse_[leaving * m + j] /= d[leaving];
        level_[leaving] /= d[leaving];
        for (int i = 0; i < m; ++i) {
            if (i == leaving || d[i] == 0) continue;
            for (int j = 0; j < m; ++j) inverse_[i * m + j] -= d[i] * inverse_[leaving * m + j];
            level_[i] = std::max(0.0, level_[i] - d[i] * level_[leaving]);
        }
        basis_[leaving] = entering;
    }

    int K_;
    std::vector<double> caps_, values_, slacks_;
    std::vector<int> basis_;
    std::vector<double> level_, inverse_;
};

// Cutting planes for the prices that bound best (Kelley): paths seen become columns of the master, whose prices are tried
// next, part of the way (in-out) as long as that helps. Weights are costs in their finest unit, and payments.
class Cuts {
  public:
    // room: of each resource what there is to spend; base, most: the least and the greatest prices; scale: the weight at
    // which prices count as 1; cap: the greatest price of all of the room, in that unit.
    Cuts(double scale, double cap, const Indices &limited, const Amounts &room, const Amounts &base, const Amounts &most)
        : scale_(scale), limited_(limited), base_(base), most_(most), slack_(limited.size()), master_(0, {}) {
        std::vector<double> caps;
        for (const int k : limited) {
            each_.push_back(scale / double(std::max<Amount>(1, room[k])));
            caps.push_back(std::min(cap, double(most[k] - base[k]) / each_.back()));
        }
        master_ = Master(int(limited.size()), caps);
    }

    // A path: what it weighs without any payment, and what it uses.
    void add(double weight, const Amounts &used, const Amounts &upper) {
        for (std::size_t i = 0; i < limited_.size(); ++i) {
            const double left = double(upper[limited_[i]] - used[limited_[i]]);
            slack_[i] = left * each_[i] / scale_;
            weight -= double(base_[limited_[i]]) * left;
        }
        master_.add(-weight / scale_, slack_);
    }

    // No prices bound better than this, as far as the paths seen tell.
    double aim() { return -master_.solve(wish_) * scale_; }

    // The prices to try next, after `aim`; all of the way if the last ones did not help.
    void next(const Amounts &best, bool helped, Amounts &price) const {
        const double part = limited_.size() == 1 || !helped ? 1.0 : 0.6;
        price.resize(base_.size());
        for (std::size_t i = 0; i < limited_.size(); ++i) {
            const int k = limited_[i];
            const double here = double(best[k] - base_[k]), there = wish_[i] * each_[i];
            price[k] = base_[k] + std::clamp<Amount>(Amount(std::llround(here + part * (there - here))), 0, most_[k] - base_[k]);
        }
    }

  private:
    double scale_;
    const Indices &limited_;
    const Amounts &base_, &most_;
    std::vector<double> each_, slack_, wish_;
    Master master_;
};

}  // namespace tape
