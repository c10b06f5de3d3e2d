#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "dpreg/error.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/mechanisms/frank_wolfe.hpp"

using namespace dpreg;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::vector<double>> hostile() {
    const double tiny = std::numeric_limits<double>::denorm_min();
    return {{},
            {0.0},
            {kNan, kNan},
            {kInf, -kInf},
            {1e308, -1e308},
            {tiny, -tiny},
            {0.5, kNan, kInf},
            {1.0, 1.0, 1.0, 1.0},
            {-0.0, 2.0, -3.0}};
}

MatrixView column_major(const std::vector<double>& x, std::size_t rows, std::size_t cols) {
    return {x.data(), rows, cols, 1, static_cast<std::ptrdiff_t>(rows)};
}

VectorView view(const std::vector<double>& y) { return {y.data(), y.size(), 1}; }

std::vector<double> weights_of(const L1Gradient& gradient) {
    std::vector<double> w(gradient.cols(), 0.0);
    gradient.write_weights(w.data());
    return w;
}

double value_of(L1Gradient& gradient, std::size_t j) {
    return static_cast<double>(gradient.numerator(j)) * gradient.scale();
}

}  // namespace

TEST(cells_lie_on_their_grid) {
    CHECK(to_cell(kNan) == 0 && to_cell(kInf) == 16384 && to_cell(-kInf) == -16384);
    CHECK(to_cell(1e308) == 16384 && to_cell(-1.0) == -16384 && to_cell(0.5) == 8192);
    CHECK(to_cell(std::ldexp(1.0, -15)) == 1 && to_cell(std::ldexp(-1.0, -15)) == -1);
    CHECK(to_cell(std::ldexp(0.99, -15)) == 0 && to_cell(-0.0) == 0);
}

TEST(frank_wolfe_takes_any_cells) {
    for (const auto& column : hostile()) {
        const std::size_t n = column.size();
        std::vector<double> x;
        for (int j = 0; j < 3; ++j) x.insert(x.end(), column.begin(), column.end());
        for (const double l1 : {1e-100, 1.0, 1e100}) {
            DenseUnitDesign design(column_major(x, n, 3));
            L1Gradient gradient(design, to_responses(view(column), l1), l1, {});
            TestBits bits(1);
            for (const auto rule : {ScreenRule::kNone, ScreenRule::kOne, ScreenRule::kEach}) {
                Screening screening;
                if (rule != ScreenRule::kNone) screening = {rule, {1, 3}, 1.0, 0.0};
                dp_frank_wolfe(gradient, 4, 1.0, screening, bits);
                double length = 0.0;
                for (const double w : weights_of(gradient)) {
                    CHECK(std::isfinite(w));
                    length += std::fabs(w);
                }
                CHECK(length <= l1 * (1 + 1e-12));
            }
            CHECK(std::isfinite(gradient.wolfe_gap(gradient.scaled_values(), {1, 1, 1})));
            for (const double s : screening_scores(gradient, {1, 1, 1})) CHECK(std::isfinite(s));
        }
    }
}

TEST(sparse_arrays_are_checked) {
    const std::vector<std::int64_t> start{0, 2};
    const std::vector<std::int32_t> columns{0, 5};
    const std::vector<double> values{1.0, 1.0};
    CHECK_THROWS(SparseUnitDesign({start.data(), columns.data(), values.data(), 1, 2, 2}),
                 InvalidArgument);
    CHECK_THROWS(SparseUnitDesign({start.data(), columns.data(), values.data(), 1, 6, 1}),
                 InvalidArgument);
    CHECK_THROWS(SparseUnitDesign({start.data(), columns.data(), values.data(), 1, 0, 2}),
                 InvalidArgument);
    const std::vector<std::int32_t> twice{5, 5}, falling{5, 0};
    for (const auto& odd : {twice, falling}) {
        CHECK_THROWS(SparseUnitDesign({start.data(), odd.data(), values.data(), 1, 6, 2}),
                     InvalidArgument);
    }
    SparseUnitDesign fine({start.data(), columns.data(), values.data(), 1, 6, 2});
    CHECK(fine.rows() == 1 && fine.cols() == 6);
}

TEST(the_largest_numbers_do_not_overflow) {
    // 1000 rows at the ends of the range and the longest walk there is.
    const std::vector<double> x(1000, 1.0);
    const std::vector<double> y(1000, -1.0);
    DenseUnitDesign design(column_major(x, 1000, 1));
    L1Gradient gradient(design, to_responses(view(y), 1.0), 1.0,
                        {static_cast<std::int32_t>(kStartWeight)});
    for (std::size_t t = 0; t < kMaxSteps; ++t) gradient.step(0, true);
    CHECK(weights_of(gradient)[0] == 1.0);
    CHECK(std::fabs(value_of(gradient, 0) - 2000.0) < 1e-9);
    CHECK_THROWS(gradient.step(0, true), InvalidArgument);
    gradient.drop(0);
    CHECK(weights_of(gradient)[0] == 0.0);
    CHECK(std::fabs(value_of(gradient, 0) - 1000.0) < 1e-9);
}

TEST(random_starts_stay_in_the_ball) {
    TestBits bits(4);
    for (const std::size_t d : {1, 2, 1000}) {
        for (int k = 0; k < 100; ++k) {
            std::int64_t length = 0;
            for (const auto v : random_start(d, bits)) length += std::abs(std::int64_t{v});
            CHECK(length <= kStartWeight);
        }
    }
}

TEST(proposals_take_extreme_log_weights) {
    TestBits bits(5);
    for (int k = 0; k < 200; ++k) {
        CHECK(choose_among({-kInf, 0.0, -1e308}, bits) == 1);
        CHECK(choose_among({-1e308, -1e308}, bits) < 2);
        CHECK(choose_among(std::vector<double>(200, 1e300), bits) < 200);
    }
    CHECK_THROWS(choose_among({}, bits), InvalidArgument);
    CHECK_THROWS(choose_among({-kInf}, bits), InvalidArgument);
}
