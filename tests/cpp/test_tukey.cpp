#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "dpreg/error.hpp"
#include "dpreg/linalg/dense.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/mechanisms/tukey_em.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/stats/batch_fit.hpp"

using namespace dpreg;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

Assignment one_model(std::size_t n) {
    Assignment a;
    for (std::size_t i = 0; i < n; ++i) a.members.push_back(i);
    a.offsets = {0, n};
    return a;
}

std::vector<double> fit(const std::vector<double>& x, const std::vector<double>& y, std::size_t d,
                        const BatchFit& options) {
    const std::size_t n = y.size();
    const MatrixView xv{x.data(), n, d, static_cast<std::ptrdiff_t>(d), 1};
    return fit_batches(xv, {y.data(), n, 1}, one_model(n), {}, options);
}

}  // namespace

TEST(crossprod_equals_its_definition) {
    TestBits bits(1);
    for (const std::size_t rows : {0, 1, 5, 33, 64}) {
        const std::size_t wa = 8;
        const std::size_t wb = 24;
        std::vector<double> a(rows * wa);
        std::vector<double> b(rows * wb);
        for (auto& v : a) v = uniform_open(bits);
        for (auto& v : b) v = uniform_open(bits);
        std::vector<double> c(wa * wb, 1.0);
        add_crossprod(a.data(), b.data(), rows, wa, wb, c.data());
        for (std::size_t i = 0; i < wa; ++i) {
            for (std::size_t j = 0; j < wb; ++j) {
                double sum = 1.0;
                for (std::size_t r = 0; r < rows; ++r) sum += a[r * wa + i] * b[r * wb + j];
                CHECK(c[i * wb + j] == sum);  // same order of summation, so the same bits
            }
        }
    }
}

TEST(cholesky_reports_what_it_cannot_factor) {
    std::vector<double> good{4, 2, 0, 3};
    CHECK(cholesky_factor(good.data(), 2, 2));
    std::vector<double> x{8, 7};
    cholesky_solve(good.data(), 2, 2, x.data());
    CHECK(std::fabs(x[0] - 1.25) < 1e-14 && std::fabs(x[1] - 1.5) < 1e-14);
    std::vector<double> singular{1, 1, 0, 1};
    CHECK(!cholesky_factor(singular.data(), 2, 2));
    std::vector<double> broken{kNaN, 1, 0, 1};
    CHECK(!cholesky_factor(broken.data(), 2, 2));
}

TEST(batch_fit_is_total) {
    const BatchFit plain{0.0, 0, true, false};
    const BatchFit full{0.03, 4, true, true};
    const std::vector<std::vector<double>> columns{{},
                                                   {1},
                                                   {1, 1, 1},
                                                   {0, 0, 0},
                                                   {1, 2, kNaN},
                                                   {kInf, -kInf, kNaN},
                                                   {1e300, -1e300, 1e299},
                                                   {5e-324, 0, -5e-324},
                                                   {1.7e308, 1.7e308, 1.7e308, 1.7e308},
                                                   {1, 2, 3, 4, 5, 6}};
    for (const auto& x : columns) {
        for (const double big : {1.0, 1e308, 5e-324, kNaN}) {
            std::vector<double> y(x.size());
            for (std::size_t i = 0; i < y.size(); ++i) y[i] = big * (i % 2 == 0 ? 1.0 : -0.5);
            for (const auto& options : {plain, full}) {
                for (const double v : fit(x, y, 1, options)) CHECK(!std::isnan(v));
            }
        }
    }
}

TEST(batch_fit_recovers_a_line_at_any_scale) {
    for (const double unit : {1e-300, 1.0, 1e300}) {
        std::vector<double> x;
        std::vector<double> y;
        for (int i = 0; i < 50; ++i) {
            x.push_back(unit * i);
            y.push_back(3.0 * i + 7.0);
        }
        const auto v = fit(x, y, 1, {0.0, 0, true, false});
        CHECK(std::fabs(v[0] * unit - 3.0) < 1e-9);
        CHECK(std::fabs(v[1] - v[0] * v[2] - 7.0) < 1e-9);
    }
}

TEST(grid_saturates_and_never_traps) {
    CHECK(to_grid(kNaN, -60) == 0);
    CHECK(to_grid(kInf, -60) == kGridLimit);
    CHECK(to_grid(-1e300, -60) == -kGridLimit);
    CHECK(to_grid(1.5, -1) == 3);
    CHECK(from_grid(to_grid(0.1, -60), -60) != 0.0);
}

TEST(choose_index_handles_edges) {
    TestBits bits(5);
    CHECK(choose_index({0.0}, bits) == 0);
    CHECK(choose_index({-kInf, 3.0, -kInf}, bits) == 1);
    const auto i = choose_index({-kInf, -kInf}, bits);
    CHECK(i == 0 || i == 1);
    CHECK_THROWS(choose_index({}, bits), InvalidArgument);
}

TEST(tukey_em_takes_any_models) {
    TestBits bits(6);
    std::vector<std::vector<double>> all{std::vector<double>(300, 1.0), std::vector<double>(300)};
    for (std::size_t i = 0; i < 300; ++i) {
        all[1][i] = i % 3 == 0 ? kInf : (i % 3 == 1 ? -kInf : static_cast<double>(i));
    }
    for (const auto& points : all) {
        for (const std::size_t p : {1, 2, 3}) {
            const DepthRegions regions(points, 300 / p, p, -60);
            for (const std::size_t t : {1, 10, 1000}) {
                const auto out = tukey_em(regions, {t, 0.5, 0.5, 1e-5}, bits);
                if (!out) continue;
                for (const double v : *out) CHECK(std::isfinite(v));
            }
        }
    }
    const DepthRegions regions(all[0], 300, 1, -60);
    CHECK_THROWS(tukey_em(regions, {10, 0.5, 0.5, 0.0}, bits), InvalidArgument);
    CHECK_THROWS(tukey_em(regions, {10, 0.5, 1e-15, 1e-5}, bits), InvalidArgument);
    CHECK_THROWS(tukey_em(regions, {10, -1.0, 0.5, 1e-5}, bits), InvalidArgument);
    CHECK_THROWS(tukey_em(regions, {10, 0.5, 501.0, 1e-5}, bits), InvalidArgument);
}

TEST(release_threshold_is_the_least_one) {
    for (const double epsilon : {0.01, 0.3, 1.0, 8.0}) {
        for (const double delta : {0.3, 1e-5, 1e-12}) {
            const auto t = release_threshold(epsilon, delta);
            const auto tail = [&](std::int64_t x) {
                return std::exp(-epsilon * static_cast<double>(x)) / (1 + std::exp(-epsilon));
            };
            CHECK(tail(t + 2) <= delta);
            CHECK(t + 1 < 1 || tail(t + 1) > delta * (1 - 1e-8));
        }
    }
}
