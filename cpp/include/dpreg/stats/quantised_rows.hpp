#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dpreg/matrix.hpp"
#include "dpreg/stats/groups.hpp"

namespace dpreg {

enum class LossKind : std::uint8_t {
    squared,            ///< residual y - eta
    logistic,           ///< y - 1 / (1 + e^-eta)
    probit,             ///< y - Phi(eta), Phi the normal distribution function
    cloglog,            ///< y - 1 + e^(-e^eta)
    poisson,            ///< y - e^eta
    counting,           ///< y - e^eta; rows of a unit follow each other in time, see `score`
    gamma,              ///< y e^-eta - 1
    negative_binomial,  ///< (y - e^eta) / (1 + dispersion e^eta)
    quantile,           ///< level - 1 / (1 + e^((y - eta) / bandwidth)), a smooth level - [y < eta]
};

/// The loss of a row, represented by its derivatives in the linear predictor eta.  All public.
///
/// The residual is minus the first derivative, the curvature the second.  Responses and linear
/// predictors are clipped before anything is computed from them, but those of the squared loss.
struct Loss {
    LossKind kind = LossKind::squared;
    double least_response = 0.0;
    double most_response = 0.0;
    double least_predictor = -1.0;  ///< at least -kMostPredictor
    double most_predictor = 1.0;    ///< at most kMostPredictor
    double level = 0.5;             ///< of the quantile, in (0, 1)
    double bandwidth = 1.0;         ///< of the quantile, above 0
    double dispersion = 1.0;        ///< of the negative binomial, above 0
};

/// Largest argument whose exponential does not overflow.
inline constexpr double kMostPredictor = 700.0;
/// As are normal densities.
inline constexpr double kMostNormal = 37.0;

/// Throws Error if a number of `loss` is invalid.
void check_loss(const Loss& loss);

/// How records become rows.  All public: released or given.
struct Standardisation {
    std::vector<std::size_t> columns;   ///< the columns that are used
    std::vector<double> low;            ///< winsorising limits, one a used column
    std::vector<double> high;           ///< at least low
    std::vector<double> centre;         ///< subtracted
    std::vector<double> inverse_scale;  ///< multiplied
    double y_centre = 0.0;
    double y_inverse_scale = 1.0;
    bool intercept = true;        ///< a first entry 1 in every row
    double row_limit = 1.0;       ///< rows of a larger norm are shrunk to it
    double response_limit = 0.0;  ///< above 0: a last entry, the shrunk response clipped to it
    std::vector<double> map;      ///< row-major, one row an entry: what rows are multiplied by
    std::size_t mapped = 0;       ///< columns of `map`; 0: rows stay as they are
    std::vector<double> aim;      ///< of a row without response: theta at which residuals are exact
    Loss loss;
    std::vector<std::size_t> given;     ///< columns added to the linear predictor as they are
    std::optional<std::size_t> weight;  ///< column of the weights; none: each row counts once
    double inverse_weight = 1.0;        ///< multiplied by the weight
    double most_weight = 1.0;           ///< larger products count as this, those below 0 as 0
};

struct Block;

/// Standardised rows as small integers, so that every sum below is exact.
///
/// With z = (1, (min(max(x, low), high) - centre) inverse_scale) times the map, if there is one,
/// and w = min(1, row_limit / |z|), a row is held as q = round(kRowSteps w z / limit()), with the
/// response, shrunk by the same w and clipped, as a last entry if it is asked for.  Then
/// |q| <= row_norm(width()); a row whose norm rounding would push above that is 0.
/// Shrinking x and y alike keeps a linear model linear.
///
/// With a column of weights, v being what is made of a row's weight, w = min(sqrt v, row_limit /
/// |z|): every sum below is then that of weighted rows, v times what one row adds without, unless
/// the row is shrunk, and with no larger sensitivity.
///
/// A row's residual at theta is w (y - z'theta), and its score that times w z; theta is held in
/// steps of 2^-26 of a power of two above its norm, so that q'theta is exact.  With another loss
/// than the squared one y is not shrunk, and the residual is w times that of the loss at y and
/// z'theta + the given columns: what is estimated is that of rows which are not shrunk.
///
/// Few values of a regressor are rounded to few others, and the error is one of its scale.  With an
/// aim t, what rounding takes off w z't is taken off the response, or added to the given columns:
/// residuals at t are those of w z, and elsewhere err by rounding times the distance to t alone.
///
/// Domain   total: cells that are not finite make the row 0, and its response.
/// Memory   2 bytes a cell and 8 bytes a row.
/// Privacy  none by itself; a row is a function of one record and public numbers, computed in an
///          order that does not depend on its place.
class QuantisedRows {
public:
    /// @param units  Rows that add up to one score; none: each row is a unit.
    QuantisedRows(const MatrixView& x, const VectorView& y, const Standardisation& how,
                  const Grouping& units);

    /// Numbers owned elsewhere.
    template <class T>
    struct Span {
        const T* data = nullptr;
        std::size_t size = 0;
        std::size_t bytes() const { return size * sizeof(T); }
    };

    /// The parts of such rows.
    struct Parts {
        std::size_t width;
        double limit;
        Span<std::int16_t> q;
        Span<double> y;  ///< shrunk like its row, with the squared loss
        std::vector<std::size_t> offsets;
        Loss loss;
        Span<double> weights;              ///< with another loss: w
        Span<double> given;                ///< with another loss: the sum of the given columns
        std::shared_ptr<const void> held;  ///< keeps the numbers where they are
    };
    /// Rows from their parts, which are not copied.
    explicit QuantisedRows(Parts parts);
    const Parts& parts() const { return parts_; }

    std::size_t rows() const { return parts_.y.size; }
    std::size_t bytes() const {
        return parts_.q.bytes() + parts_.y.bytes() + parts_.weights.bytes() + parts_.given.bytes() +
               parts_.offsets.size() * sizeof(parts_.offsets[0]);
    }
    /// Entries of a row: used columns, and the 1 and the response if they are there.
    std::size_t width() const { return parts_.width; }
    /// Norm that equals kRowSteps: row_limit, or its hypotenuse with response_limit.
    double limit() const { return parts_.limit; }

    /// Sum of q q', width x width, row-major, exact.
    ///
    /// Privacy  none by itself; gram_sensitivity(width()) by row, in the norm
    ///          sqrt(sum of diagonal^2 + 2 sum over i < j of entry_ij^2).
    std::vector<std::int64_t> gram() const;

    struct Round {
        std::vector<std::int64_t> gradient;  ///< sum of p q, in steps of clip limit() / kRowSteps^2
        std::int64_t squares;                ///< sum of p^2, in steps of (clip / kRowSteps)^2
    };

    /// One boosting round: with residuals r and p = round(kRowSteps min(max(r / clip, -1), 1)), the
    /// sums of p q and of p^2, over all rows or those of `sample`.
    ///
    /// Domain   theta of size width(), finite; clip > 0.
    /// Privacy  none by itself; one row moves the gradient by at most gradient_sensitivity(width())
    ///          in l2 norm and the squares by at most kSquaresSensitivity.
    Round round(const std::vector<double>& theta, double clip,
                const std::vector<std::size_t>* sample = nullptr) const;

    /// Sum over units of their scores, each shortened to `limit`, in steps of limit / kScoreSteps.
    /// With the counting loss a unit's score stops in time instead: rows add -e^eta little by
    /// little and then y, and once `limit` is reached nothing more, so that what is left out has
    /// mean 0 where the model holds.
    ///
    /// Domain   theta of size width(); limit > 0.
    /// Privacy  none by itself; one unit moves it by at most score_sensitivity(width()) in l2 norm.
    std::vector<std::int64_t> score(const std::vector<double>& theta, double limit) const;

    /// Sum over rows of u u', u the row q times the root of its loss's curvature, shortened to
    /// `limit` and rounded, in steps of limit / kRowSteps.  The squared loss has curvature 1.
    ///
    /// Domain   theta of size width(); limit > 0.
    /// Privacy  none by itself; curvature_sensitivity(width()) by row, in the norm named at `gram`.
    std::vector<std::int64_t> curvature(const std::vector<double>& theta, double limit) const;

    /// Number of units by the norm of their score: bin k has those from
    /// 2^((kLeastScoreBin + k) / 2) to sqrt 2 times that; the first and the last have the rest.
    ///
    /// Privacy  none by itself; one unit moves one count by 1, kScoreNormsSensitivity.
    std::vector<std::int64_t> score_norms(const std::vector<double>& theta) const;

    /// Sum over units of v v', v the score as in `score` in steps of limit / kRowSteps, rounded.
    ///
    /// Privacy  none by itself; score_products_sensitivity(width()) by unit, in the norm named at
    ///          `gram`.
    std::vector<std::int64_t> score_products(const std::vector<double>& theta, double limit) const;

    /// Minus the derivative of `score` with the counting loss and limit `stop`, along the first
    /// `leading` coordinates: the sum of e^eta q q' over the rows of units whose score does not
    /// stop; that of the others is nearly 0, and left out.  The part of a unit is shrunk to a trace
    /// of `limit`^2, in steps of (limit / kRowSteps)^2, leading x leading.
    ///
    /// Domain   theta of size width(); stop, limit > 0; leading <= width(); the counting loss.
    /// Privacy  none by itself; followed_curvature_sensitivity(leading) by unit, in the norm named
    ///          at `gram`.
    std::vector<std::int64_t> followed_curvature(const std::vector<double>& theta, double stop,
                                                 double limit, std::size_t leading) const;

private:
    /// Each row is a unit.
    bool single() const { return parts_.offsets.empty(); }
    std::size_t units() const { return single() ? rows() : parts_.offsets.size() - 1; }
    Block block(std::size_t first, std::size_t count) const;
    /// The rows of a unit, which are next to one another; unless each row is one.
    Block block_of(std::size_t unit) const;

    Parts parts_;
    std::size_t stride_;
};

/// QuantisedRows(x, y, how, {}).gram(), without memory for all rows.
std::vector<std::int64_t> mapped_gram(const MatrixView& x, const VectorView& y,
                                      const Standardisation& how);

/// Integer steps of a row's limit and of a residual's clip.
inline constexpr int kRowSteps = 1 << 14;
/// Steps of the limit of a score.
inline constexpr double kScoreSteps = 268435456.0;  // 2^28
/// Norms of scores are counted by half octaves, from 2^-20 to 2^40.
inline constexpr int kLeastScoreBin = -40;
inline constexpr std::size_t kScoreBins = 121;

/// Largest norm of a quantised row of `width` entries.
double row_norm(std::size_t width);

/// Largest change of the Gram matrix by one row, in the norm named at `gram`; attained but
/// for rounding.  Noise of scale sigma on the diagonal and sigma / sqrt 2 above it is
/// (gram_sensitivity / sigma)-GDP.
double gram_sensitivity(std::size_t width);

/// Largest change of the curvature by one row, in the norm named at `gram`.
double curvature_sensitivity(std::size_t width);

/// Largest change of the followed curvature of `width` coordinates by one unit, in that norm.
double followed_curvature_sensitivity(std::size_t width);

/// Largest l2 change of the gradient by one row.
double gradient_sensitivity(std::size_t width);

/// Largest change of the sum of squares by one row.
inline constexpr double kSquaresSensitivity =
    static_cast<double>(kRowSteps) * static_cast<double>(kRowSteps);

/// Largest l2 change of the score by one unit.
double score_sensitivity(std::size_t width);

/// Largest l2 change of the counts of norms of scores by one unit.
inline constexpr double kScoreNormsSensitivity = 1.0;

/// Largest change of the products of scores by one unit, in the norm named at `gram`.
double score_products_sensitivity(std::size_t width);

}  // namespace dpreg
