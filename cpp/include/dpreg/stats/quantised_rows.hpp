#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// How rows are standardised before they are summed.  All public: released or given.
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
};

/// Standardised rows as small integers, so that every sum below is exact.
///
/// With z = (1, (min(max(x, low), high) - centre) inverse_scale) and
/// w = min(1, row_limit / |z|), a row is held as q = round(kRowSteps w z / limit()), with the
/// response, shrunk by the same w and clipped, as a last entry if it is asked for.  Then
/// |q| <= row_norm(width()); a row whose norm rounding would push above that is 0.
/// Shrinking x and y alike keeps a linear model linear.
///
/// Domain   total: cells that are not finite make the row 0, and its response.
/// Memory   2 bytes a cell and 8 bytes a row.
/// Privacy  none by itself; a row is a function of one record and public numbers.
class QuantisedRows {
public:
    QuantisedRows(const MatrixView& x, const VectorView& y, const Standardisation& how,
                  std::size_t threads);

    std::size_t rows() const { return y_.size(); }
    /// Entries of a row: used columns, and the 1 and the response if they are there.
    std::size_t width() const { return width_; }
    /// Norm that kRowSteps stand for: row_limit, or its hypotenuse with response_limit.
    double limit() const { return limit_; }

    /// Sum of q q', width x width, row-major, exact for up to 2^26 rows a block of 2^20.
    ///
    /// Privacy  none by itself; gram_sensitivity(width()) in the norm
    ///          sqrt(sum of diagonal^2 + 2 sum over i < j of entry_ij^2).
    std::vector<std::int64_t> gram(std::size_t threads) const;

    struct Round {
        std::vector<std::int64_t> gradient;  ///< sum of p q, in steps of clip limit() / kRowSteps^2
        std::int64_t squares;                ///< sum of p^2, in steps of (clip / kRowSteps)^2
    };

    /// One boosting round: with shrunk residuals r = w (y - z'theta) and
    /// p = round(kRowSteps min(max(r / clip, -1), 1)), the sums of p q and of p^2.
    ///
    /// Domain   theta of size width(), finite; clip > 0.
    /// Privacy  none by itself; one row moves the gradient by at most gradient_sensitivity(width())
    ///          in l2 norm and the squares by at most kSquaresSensitivity.
    Round round(const std::vector<double>& theta, double clip, std::size_t threads) const;

    /// As `round`, over the rows listed only; on the calling thread.
    Round round(const std::vector<double>& theta, double clip,
                const std::vector<std::size_t>& sample) const;

    struct Scatter {
        std::vector<std::int64_t> sums;  ///< of v v', width x width, in steps of gram and clip^2
        std::int64_t unclipped;          ///< rows with |r| < clip
    };

    /// The second moments of the gradient: v = round(p q / kRowSteps), sum of v v'.
    ///
    /// Domain   as for `round`.
    /// Privacy  none by itself; scatter_sensitivity(width()) in the norm named at `gram`; the
    ///          count moves by at most 1.
    Scatter scatter(const std::vector<double>& theta, double clip, std::size_t threads) const;

private:
    void quantise_row(const MatrixView& x, const VectorView& y, const Standardisation& how,
                      std::size_t i, std::vector<double>& z);

    std::size_t width_;
    std::size_t stride_;
    double limit_;
    std::vector<std::int16_t> q_;
    std::vector<double> y_;  // shrunk like its row
};

/// Integer steps of a row's limit and of a residual's clip.
inline constexpr int kRowSteps = 1 << 13;

/// Largest norm of a quantised row of `width` entries.
double row_norm(std::size_t width);

/// Largest change of the Gram matrix by one row, in the norm named at `gram`; attained but
/// for rounding.  Noise of scale sigma on the diagonal and sigma / sqrt 2 above it is
/// (gram_sensitivity / sigma)-GDP.
double gram_sensitivity(std::size_t width);

/// Largest change of the scatter by one row, in the same norm.
double scatter_sensitivity(std::size_t width);

/// Largest l2 change of the gradient by one row.
double gradient_sensitivity(std::size_t width);

/// Largest change of the sum of squares by one row.
inline constexpr double kSquaresSensitivity =
    static_cast<double>(kRowSteps) * static_cast<double>(kRowSteps);

}  // namespace dpreg
