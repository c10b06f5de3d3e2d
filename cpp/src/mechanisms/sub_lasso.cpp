#include "dpreg/mechanisms/sub_lasso.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/linalg/simd.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

// A column whose root mean square about its mean is below this share of its largest value
// is constant up to rounding.
constexpr double kConstant = 1e-12;
// Coordinate descent stops when no coefficient moved by more than this share of the largest one, or
// after so many passes.
constexpr double kTolerance = 1e-7;
constexpr std::size_t kMostPasses = 10000;

using Lanes = LanesOf<16>;

double sum_of_lanes(const Lanes& v) {
    return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

double dot(const double* a, const double* b, std::size_t padded) {
    Lanes sum = Lanes::of(0.0);
    for (std::size_t i = 0; i < padded; i += kPanel) {
        sum += Lanes::load(a + i) * Lanes::load(b + i);
    }
    return sum_of_lanes(sum);
}

/// y += factor * x
void add_multiple(double factor, const double* x, double* y, std::size_t padded) {
    for (std::size_t i = 0; i < padded; i += kPanel) {
        (Lanes::load(y + i) + factor * Lanes::load(x + i)).store(y + i);
    }
}

double soft_threshold(double value, double threshold) {
    return value > threshold ? value - threshold : (value < -threshold ? value + threshold : 0.0);
}

bool finite_row(const MatrixView& x, const VectorView& y, std::size_t i) {
    // A sum of finite doubles may overflow, but a product with zero may not.
    double probe = y[i] * 0.0;
    for (std::size_t j = 0; j < x.cols; ++j) probe += x(i, j) * 0.0;
    return probe == 0.0;
}

/// The fit of one batch, with its scratch memory.
class LassoSolver {
public:
    LassoSolver(const MatrixView& x, const VectorView& y, const BatchLasso& options)
        : x_(x), y_(y), options_(options), d_(x.cols), exponent_(d_ + 1), square_(d_ + 1) {}

    void fit(const Assignment& assignment, const Grouping& units, std::size_t g, double* w) {
        std::fill(w, w + d_, 0.0);
        rows_.clear();
        visit_rows(assignment, units, g, [&](std::size_t row, std::size_t) {
            if (finite_row(x_, y_, row)) rows_.push_back(row);
        });
        if (rows_.size() < 2) return;
        gather();
        if (square_[d_] > 0.0) descend(w);
        if (options_.scaling == BatchScaling::kNone) in_user_units(w);
    }

private:
    double* column(std::size_t j) { return columns_.data() + j * padded_; }
    double mean_square(std::size_t j) const {
        return square_[j] / static_cast<double>(rows_.size());
    }

    /// Column d is y.  Columns are in units of a power of two near their largest value, so
    /// that nothing overflows, then centred, then scaled.
    void gather() {
        padded_ = padded(rows_.size());
        columns_.assign((d_ + 1) * padded_, 0.0);
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (std::size_t j = 0; j < d_; ++j) column(j)[i] = x_(rows_[i], j);
            column(d_)[i] = y_[rows_[i]];
        }
        for (std::size_t j = 0; j <= d_; ++j) standardize(j);
    }

    void standardize(std::size_t j) {
        double* z = column(j);
        const std::size_t b = rows_.size();
        double largest = 0.0;
        for (std::size_t i = 0; i < b; ++i) largest = std::max(largest, std::fabs(z[i]));
        exponent_[j] = largest > 0.0 ? std::max(std::ilogb(largest), -1000) : 0;
        const double unit = std::ldexp(1.0, -exponent_[j]);
        double mean = 0.0;
        for (std::size_t i = 0; i < b; ++i) mean += z[i] *= unit;
        mean /= static_cast<double>(b);
        for (std::size_t i = 0; i < b; ++i) z[i] -= mean;
        square_[j] = dot(z, z, padded_);
        if (mean_square(j) <= kConstant * kConstant) {
            square_[j] = 0.0;
            return;
        }
        if (options_.scaling == BatchScaling::kNone) return;
        const double scale = 1.0 / std::sqrt(mean_square(j));
        for (std::size_t i = 0; i < b; ++i) z[i] *= scale;
        square_[j] = static_cast<double>(b);
    }

    /// The penalty times b in the units of column j and of y: the objective divided by the
    /// square of y's unit has a penalty of lambda / (unit of x_j * unit of y).
    double threshold(std::size_t j) const {
        const double b = static_cast<double>(rows_.size());
        if (options_.scaling == BatchScaling::kUnitVariance) return b * options_.penalty;
        return b * std::ldexp(options_.penalty, -exponent_[j] - exponent_[d_]);
    }

    /// 1. Over all columns. 2. Over those with a coefficient, until they settle. 3. If step 1
    /// then finds nothing to move, stop.
    void descend(double* w) {
        double* residual = column(d_);
        auto& active = active_;
        bool all = true;
        every_column();
        for (std::size_t pass = 0; pass < kMostPasses; ++pass) {
            const bool settled = sweep(w, residual);
            if (settled && all) return;
            if (!settled && !all) continue;
            all = settled;
            every_column();
            if (all) continue;
            active.erase(std::remove_if(active.begin(), active.end(),
                                        [w](std::size_t j) { return w[j] == 0.0; }),
                         active.end());
        }
    }

    void every_column() {
        active_.resize(d_);
        std::iota(active_.begin(), active_.end(), std::size_t{0});
    }

    /// One pass over the active columns; returns whether nothing moved by more than the tolerance.
    bool sweep(double* w, double* residual) {
        double largest_move = 0.0;
        double largest = 0.0;
        for (const auto j : active_) {
            if (square_[j] == 0.0) continue;
            const double along = dot(column(j), residual, padded_) + square_[j] * w[j];
            const double updated = soft_threshold(along, threshold(j)) / square_[j];
            const double move = updated - w[j];
            if (move != 0.0) add_multiple(-move, column(j), residual, padded_);
            w[j] = updated;
            largest_move = std::max(largest_move, std::fabs(move));
            largest = std::max(largest, std::fabs(updated));
        }
        return largest_move <= kTolerance * largest;
    }

    void in_user_units(double* w) const {
        for (std::size_t j = 0; j < d_; ++j) w[j] = std::ldexp(w[j], exponent_[d_] - exponent_[j]);
    }

    const MatrixView& x_;
    const VectorView& y_;
    const BatchLasso& options_;
    std::size_t d_;
    std::size_t padded_ = 0;
    std::vector<std::size_t> rows_;
    std::vector<double> columns_;
    std::vector<int> exponent_;
    std::vector<double> square_;
    std::vector<std::size_t> active_;
};

/// Calls use(g, coefficients of model g) for each model, on several threads.
template <class Use>
void for_each_fit(const MatrixView& x, const VectorView& y, const Assignment& assignment,
                  const Grouping& units, const BatchLasso& options, const Use& use) {
    require(x.rows == y.size, "X and y must have the same number of rows");
    check_members(assignment, units, x.rows);
    require(options.penalty >= 0.0 && std::isfinite(options.penalty),
            "the penalty must be finite and at least 0");
    const std::size_t models = assignment.offsets.size() - 1;
    parallel_ranges(models, [&](std::size_t begin, std::size_t end) {
        LassoSolver solver(x, y, options);
        std::vector<double> w(x.cols);
        for (std::size_t g = begin; g < end; ++g) {
            solver.fit(assignment, units, g, w.data());
            use(g, w.data());
        }
    });
}

/// Adds the votes of one model; `order` is scratch of d elements.
void add_votes(const double* w, std::size_t k, std::vector<std::size_t>& order,
               std::vector<double>& votes) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto last = order.begin() + static_cast<std::ptrdiff_t>(std::min(k, order.size()));
    std::partial_sort(order.begin(), last, order.end(), [w](std::size_t a, std::size_t b) {
        const double size_a = std::fabs(w[a]);
        const double size_b = std::fabs(w[b]);
        return size_a != size_b ? size_a > size_b : a < b;
    });
    for (auto j = order.begin(); j != last && w[*j] != 0.0; ++j) votes[*j] += 1.0;
}

}  // namespace

std::vector<double> fit_lasso_batches(const MatrixView& x, const VectorView& y,
                                      const Assignment& assignment, const Grouping& units,
                                      const BatchLasso& options) {
    std::vector<double> result((assignment.offsets.size() - 1) * x.cols);
    for_each_fit(x, y, assignment, units, options, [&](std::size_t g, const double* w) {
        std::copy(w, w + x.cols, result.begin() + static_cast<std::ptrdiff_t>(g * x.cols));
    });
    return result;
}

std::vector<double> count_votes(const std::vector<double>& coefficients, std::size_t d,
                                std::size_t k) {
    require(d >= 1 && coefficients.size() % d == 0, "coefficients must be a matrix of d columns");
    require(k >= 1, "k must be at least 1");
    std::vector<double> votes(d, 0.0);
    std::vector<std::size_t> order(d);
    for (std::size_t start = 0; start < coefficients.size(); start += d) {
        add_votes(coefficients.data() + start, k, order, votes);
    }
    return votes;
}

std::vector<double> lasso_votes(const MatrixView& x, const VectorView& y,
                                const Assignment& assignment, const Grouping& units,
                                const ColumnGroups& groups, const BatchLasso& options,
                                std::size_t k) {
    require(k >= 1, "k must be at least 1");
    std::vector<double> votes(groups.size(), 0.0);
    std::vector<double> sizes(groups.size());
    std::vector<std::size_t> order(groups.size());
    std::mutex counting;
    for_each_fit(x, y, assignment, units, options, [&](std::size_t, const double* w) {
        // Counts are integers, so the order in which models finish does not matter.
        const std::lock_guard<std::mutex> lock(counting);
        for (std::size_t g = 0; g < groups.size(); ++g) {
            sizes[g] = groups.largest(g, [w](auto j) { return std::fabs(w[j]); });
        }
        add_votes(sizes.data(), k, order, votes);
    });
    return votes;
}

std::vector<std::size_t> sub_lasso(const MatrixView& x, const VectorView& y,
                                   const Assignment& assignment, const Grouping& units,
                                   const ColumnGroups& groups, const BatchLasso& lasso,
                                   std::size_t k, double epsilon, BitSource& bits) {
    require(k >= 1 && k <= groups.size(),
            "k must be between 1 and the number of groups of columns");
    require(groups.end(groups.size() - 1) == x.cols, "groups must be of the columns of x");
    const auto votes = lasso_votes(x, y, assignment, units, groups, lasso, k);
    return peel(votes, k, kVoteRange, epsilon, bits);
}

}  // namespace dpreg
