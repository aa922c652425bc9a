// The master problem of the Lagrangian dual: the prices at which the paths seen so far look least attractive.
#pragma once

#include <cmath>
#include <vector>

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

}  // namespace tape
