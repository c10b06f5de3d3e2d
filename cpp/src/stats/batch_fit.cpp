#include "dpreg/stats/batch_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "batch_passes.hpp"
#include "dpreg/linalg/dense.hpp"
#include "dpreg/matrix.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

// A column whose root mean square about its mean is below this share of its largest
// value is constant up to rounding.
constexpr double kConstant = 1e-12;
// A slope is not estimable in a batch if the ridge takes this share of it, unless the caller chose
// a ridge that takes a hundredth even of uncorrelated columns.
constexpr double kUntold = 1e-3;
constexpr double kUncorrelated = 100.0;
// Below this value of one minus a leverage, a residual is uninformative.
constexpr double kLeastLeverageGap = 1e-2;
// Log spreads are held in this range, which is that of positive doubles.
constexpr double kLogRange = 745.0;

/// Half the logarithm of a variance in units of 4^exponent, total.
double half_log(double variance, int exponent) {
    const double half = variance > 0.0 ? 0.5 * std::log(variance) : -kLogRange;
    return std::clamp(half + exponent * std::log(2.0), -kLogRange, kLogRange);
}

/// The fit of one batch, with its scratch memory.  The columns of `a` are x and then y,
/// in units of a power of two near their largest value, so that nothing overflows.
class BatchSolver {
public:
    BatchSolver(const MatrixView& x, const VectorView& y, const BatchFit& options)
        : x_(x), y_(y), options_(options), d_(x.cols), width_(padded(x.cols + 1)) {}

    /// `sign` is that of the infinite slopes of columns that are not estimable in the batch.
    void fit(const Assignment& assignment, const Grouping& units, std::size_t g, double sign,
             double* out) {
        chosen_.rows.clear();
        chosen_.units.clear();
        visit_rows(assignment, units, g, [&](std::size_t row, std::size_t unit) {
            chosen_.rows.push_back(row);
            chosen_.units.push_back(unit);
        });
        gather();
        if (options_.intercept) centre();
        correlate();
        solve();
        write_coefficients(out);
        if (!options_.log_spreads) return;
        write_log_spreads(out + d_ + (options_.intercept ? d_ + 1 : 0));
        for (std::size_t j = 0; j < d_; ++j) {
            if (untold(j)) out[j] = sign * std::numeric_limits<double>::infinity();
        }
    }

private:
    void gather() {
        a_.assign(chosen_.rows.size() * width_, 0.0);
        std::vector<double> largest(width_, 0.0);
        gather_kernel(x_, y_, width_, chosen_, a_.data(), largest.data());
        rows_ = chosen_.units.size();

        std::vector<double> unit_of(width_, 0.0);
        exponent_.assign(d_ + 1, 0);
        for (std::size_t j = 0; j <= d_; ++j) {
            // 2^-1074 has no reciprocal; columns of denormals stay a little below 1.
            if (largest[j] > 0.0) exponent_[j] = std::max(std::ilogb(largest[j]), -1000);
            unit_of[j] = std::ldexp(1.0, -exponent_[j]);
        }
        mean_.assign(width_, 0.0);
        scale_kernel(a_.data(), rows_, width_, unit_of.data(), mean_.data());
        for (auto& mean : mean_) mean /= std::max<double>(1.0, static_cast<double>(rows_));
    }

    /// Subtracts means, with unequal weights: unweighted means of a column with few values would
    /// be tied among models of one size, and boxes that end at a tie have no volume.
    void centre() {
        double total = 0.0;
        double squares = 0.0;
        weighed_.assign(width_, 0.0);
        centre_kernel(a_.data(), rows_, width_, mean_.data(), weighed_.data());
        for (std::size_t i = 0; i < rows_; ++i) {
            const double weight = mean_weight(i);
            total += weight;
            squares += weight * weight;
        }
        for (std::size_t j = 0; j <= d_; ++j) {
            weighed_[j] = mean_[j] + (rows_ > 0 ? weighed_[j] / total : 0.0);
        }
        mean_inflation_ = rows_ > 0 ? static_cast<double>(rows_) * squares / (total * total) : 1.0;
    }

    /// The Gram matrix of x and y with the columns of x scaled to length 1.
    void correlate() {
        gram_.assign(width_ * width_, 0.0);
        add_gram(a_.data(), rows_, width_, gram_.data());
        const double negligible = static_cast<double>(rows_) * kConstant * kConstant;
        scale_.assign(d_, 0.0);
        for (std::size_t j = 0; j < d_; ++j) {
            const double square = gram_[j * width_ + j];
            if (rows_ >= 2 && square > negligible) scale_[j] = 1.0 / std::sqrt(square);
        }
        for (std::size_t i = 0; i < d_; ++i) {
            for (std::size_t j = i; j < d_; ++j) gram_[i * width_ + j] *= scale_[i] * scale_[j];
            gram_[i * width_ + d_] *= scale_[i];
        }
    }

    /// Iterated Tikhonov: theta <- (R + ridge)^-1 (z + ridge theta), from theta = 0.
    void solve() {
        factor_ = gram_;
        // One also where the column is constant: nothing else is in its row.
        for (std::size_t i = 0; i < d_; ++i) factor_[i * width_ + i] = 1.0 + options_.ridge;
        theta_.assign(d_, 0.0);
        solved_ = cholesky_factor(factor_.data(), d_, width_);
        if (!solved_) return;
        for (std::size_t step = 0; step <= options_.refinements; ++step) {
            for (std::size_t j = 0; j < d_; ++j) {
                theta_[j] = gram_[j * width_ + d_] + options_.ridge * theta_[j];
            }
            cholesky_solve(factor_.data(), d_, width_, theta_.data());
        }
    }

    /// Whether column j is constant in this batch, or about a linear combination of the others:
    /// of a change along it the fit misses the sum over eigenvectors v of R, with eigenvalue e, of
    /// v_j^2 (ridge / (ridge + e))^(1 + refinements).
    bool untold(std::size_t j) const {
        const double chosen = std::pow(options_.ridge / (1.0 + options_.ridge),
                                       1.0 + static_cast<double>(options_.refinements));
        return !solved_ || scale_[j] == 0.0 || missed_[j] > kUntold + kUncorrelated * chosen;
    }

    /// In the units of the caller.
    void write_coefficients(double* out) const {
        for (std::size_t j = 0; j < d_; ++j) {
            out[j] = std::ldexp(theta_[j] * scale_[j], exponent_[d_] - exponent_[j]);
        }
        if (!options_.intercept) return;
        out[d_] = std::ldexp(weighed_[d_], exponent_[d_]);
        for (std::size_t j = 0; j < d_; ++j)
            out[d_ + 1 + j] = std::ldexp(weighed_[j], exponent_[j]);
    }

    /// F with theta = F z: sum over s of ridge^s (R + ridge)^-(s+1).  Row-major, full.
    std::vector<double> filter() {
        std::vector<double> inverse(width_ * width_, 0.0);
        for (std::size_t j = 0; j < d_; ++j) {
            inverse[j * width_ + j] = 1.0;
            cholesky_solve(factor_.data(), d_, width_, &inverse[j * width_]);
        }
        std::vector<double> sum = inverse;
        std::vector<double> power = inverse;
        for (std::size_t step = 0; step < options_.refinements; ++step) {
            std::vector<double> next(width_ * width_, 0.0);
            add_crossprod(inverse.data(), power.data(), d_, width_, width_, next.data());
            for (std::size_t k = 0; k < next.size(); ++k) {
                next[k] *= options_.ridge;
                sum[k] += next[k];
            }
            power.swap(next);
        }
        for (std::size_t j = 0; j < d_; ++j) missed_[j] = options_.ridge * power[j * width_ + j];
        return sum;
    }

    /// W with theta = W'(y column): row i is F x_i.  Row-major, rows_ x width_ and padding.
    std::vector<double> influence() {
        // add_crossprod wants the rows of x along memory in its first argument.
        const std::size_t long_side = padded(rows_);
        std::vector<double> transposed(d_ * long_side, 0.0);
        for (std::size_t i = 0; i < rows_; ++i) {
            for (std::size_t j = 0; j < d_; ++j) {
                a_[i * width_ + j] *= scale_[j];
                transposed[j * long_side + i] = a_[i * width_ + j];
            }
        }
        std::vector<double> result(long_side * width_, 0.0);
        const auto f = filter();
        add_crossprod(transposed.data(), f.data(), d_, long_side, width_, result.data());
        return result;
    }

    /// Residuals over sqrt(1 - leverage), each with the variance of its error.
    std::vector<double> scaled_residuals(const std::vector<double>& weights) const {
        const double flat = options_.intercept ? 1.0 / static_cast<double>(rows_) : 0.0;
        std::vector<double> result(rows_);
        std::vector<std::size_t> saturated;
        double squares = 0.0;
        double freedom = 0.0;
        for (std::size_t i = 0; i < rows_; ++i) {
            const double* row = a_.data() + i * width_;
            double gap = 1.0 - flat;
            double residual = row[d_];
            for (std::size_t j = 0; j < d_; ++j) {
                gap -= row[j] * weights[i * width_ + j];
                residual -= row[j] * theta_[j];
            }
            squares += residual * residual;
            freedom += std::max(gap, 0.0);
            result[i] = residual / std::sqrt(gap);
            if (gap < kLeastLeverageGap) saturated.push_back(i);
        }
        const double typical = freedom > 0.0 ? std::sqrt(squares / freedom) : 0.0;
        for (const std::size_t i : saturated) result[i] = typical;
        return result;
    }

    /// Calls visit(scores, centred sums) once a unit, both of length d + 1: the HC2 scores
    /// of theta (the last entry is unused) and the sums of the columns of x and y.
    template <class Visit>
    void for_each_unit(const Visit& visit) {
        const auto weights = influence();
        const auto residuals = scaled_residuals(weights);
        std::vector<double> scores(d_ + 1, 0.0);
        std::vector<double> sums(d_ + 1, 0.0);
        for (std::size_t i = 0; i < rows_; ++i) {
            for (std::size_t j = 0; j < d_; ++j)
                scores[j] += weights[i * width_ + j] * residuals[i];
            for (std::size_t j = 0; j <= d_; ++j) sums[j] += a_[i * width_ + j];
            if (i + 1 < rows_ && chosen_.units[i + 1] == chosen_.units[i]) continue;
            visit(scores, sums);
            std::fill(scores.begin(), scores.end(), 0.0);
            std::fill(sums.begin(), sums.end(), 0.0);
        }
    }

    void write_log_spreads(double* out) {
        std::vector<double> contrast(d_, 0.0);
        std::vector<double> score_squares(d_, 0.0);
        std::vector<double> sum_squares(d_ + 1, 0.0);
        double sign = 1.0;
        double units = 0.0;
        missed_.assign(d_, 1.0);
        if (solved_ && rows_ >= 2) {
            for_each_unit([&](const auto& scores, const auto& sums) {
                for (std::size_t j = 0; j < d_; ++j) {
                    contrast[j] += sign * scores[j];
                    score_squares[j] += scores[j] * scores[j];
                }
                for (std::size_t j = 0; j <= d_; ++j) sum_squares[j] += sums[j] * sums[j];
                sign = -sign;
                units += 1.0;
            });
        }
        for (std::size_t j = 0; j < d_; ++j) {
            const double spread = contrast[j] * scale_[j];
            const int shift = exponent_[d_] - exponent_[j];
            out[j] = untold(j) ? kLogRange : half_log(spread * spread, shift);
        }
        if (!options_.intercept) return;
        // The parts of mean(y) - sum of slope_j mean(x_j) are released independently.
        const double rows = static_cast<double>(rows_);
        const double inflation =
            units > 1.0 ? mean_inflation_ * units / (units - 1.0) / (rows * rows) : 0.0;
        double variance = sum_squares[d_] * inflation;
        for (std::size_t j = 0; j < d_; ++j) {
            if (untold(j)) continue;
            // The columns of a_ are in units of 1 / scale_ by now, the means are not.
            const double mean = mean_[j] * scale_[j];
            variance += mean * mean * score_squares[j];
            variance += theta_[j] * theta_[j] * sum_squares[j] * inflation;
        }
        out[d_] = half_log(variance, exponent_[d_]);
    }

    const MatrixView& x_;
    const VectorView& y_;
    const BatchFit& options_;
    std::size_t d_;
    std::size_t width_;
    std::size_t rows_ = 0;
    bool solved_ = false;
    double mean_inflation_ = 1.0;
    Chosen chosen_;
    std::vector<int> exponent_;
    std::vector<double> a_, mean_, weighed_, scale_, gram_, factor_, theta_, missed_;
};

}  // namespace

double mean_weight(std::size_t i) {
    const double turns = static_cast<double>(i + 1) * 0.6180339887498949;
    return 0.5 + (turns - std::floor(turns));
}

std::size_t BatchFit::vector_size(std::size_t d) const {
    const std::size_t coefficients = d + (intercept ? d + 1 : 0);
    return coefficients + (log_spreads ? d + (intercept ? 1 : 0) : 0);
}

std::vector<double> fit_batches(const MatrixView& x, const VectorView& y,
                                const Assignment& assignment, const Grouping& units,
                                const BatchFit& options) {
    require(x.rows == y.size, "X and y must have the same number of rows");
    check_members(assignment, units, x.rows);
    const std::size_t models = assignment.offsets.size() - 1;
    const std::size_t size = options.vector_size(x.cols);
    std::vector<double> result(models * size);
    parallel_ranges(models, [&](std::size_t begin, std::size_t end) {
        BatchSolver solver(x, y, options);
        for (std::size_t g = begin; g < end; ++g) {
            solver.fit(assignment, units, g, g % 2 == 0 ? 1.0 : -1.0, result.data() + g * size);
        }
    });
    return result;
}

}  // namespace dpreg
