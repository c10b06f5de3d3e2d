#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "dpreg/linalg/kernels.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/stats/quantised_rows.hpp"

using namespace dpreg;

namespace {

struct Table {
    std::vector<double> x, y;
    std::size_t rows, cols;

    Table(std::size_t n, std::size_t d, bool odd) : x(n * d), y(n), rows(n), cols(d) {
        TestBits bits(n + d);
        for (auto& v : x) v = 4.0 * uniform_open(bits) - 2.0;
        for (auto& v : y) v = 4.0 * uniform_open(bits) - 2.0;
        if (!odd || x.empty()) return;
        x[0] = std::numeric_limits<double>::quiet_NaN();
        x.back() = 1e300;
        y[n / 2] = std::numeric_limits<double>::infinity();
    }

    QuantisedRows made(const Standardisation& how, const Grouping& units = {}) const {
        const MatrixView view{x.data(), rows, cols, static_cast<std::ptrdiff_t>(cols), 1};
        return {view, {y.data(), rows, 1}, how, units};
    }
};

Standardisation recipe(std::size_t d, bool mapped, LossKind kind) {
    Standardisation how;
    for (std::size_t j = 0; j < d; ++j) how.columns.push_back(j);
    how.low.assign(d, -3.0);
    how.high.assign(d, 3.0);
    how.centre.assign(d, 0.1);
    how.inverse_scale.assign(d, 0.9);
    how.row_limit = 1.0 + std::sqrt(static_cast<double>(d));
    how.loss.kind = kind;
    how.loss.most_response = 2.0;
    if (!mapped) return how;
    how.mapped = d + 1;
    how.map.assign((d + 1) * (d + 1), 0.0);
    for (std::size_t j = 0; j <= d; ++j) how.map[j * (d + 1) + d - j] = 0.7;
    return how;
}

/// Sums of the same rows by each instruction set are those by the first.
template <class Sums>
void check_all_alike(const Sums& sums) {
    use_instructions(Instructions::portable);
    const auto first = sums();
    for (const auto set : instruction_sets()) {
        use_instructions(set);
        CHECK(sums() == first);
    }
}

}  // namespace

TEST(row_sums_do_not_depend_on_the_instruction_set) {
    for (const std::size_t d : {0, 1, 7, 8, 20, 70}) {
        for (const std::size_t n : {0, 1, 3, 47, 500}) {
            for (const bool mapped : {false, true}) {
                for (const auto kind : {LossKind::squared, LossKind::logistic}) {
                    const Table table(n, d, n > 3);
                    const auto how = recipe(d, mapped, kind);
                    const std::vector<double> theta(d + 1, 0.3);
                    check_all_alike([&] {
                        const auto rows = table.made(how);
                        auto sums = rows.gram();
                        for (const auto& more :
                             {rows.round(theta, 1.0).gradient, rows.score(theta, 2.0),
                              rows.score_norms(theta), rows.score_products(theta, 2.0),
                              rows.curvature(theta, 2.0)}) {
                            sums.insert(sums.end(), more.begin(), more.end());
                        }
                        return sums;
                    });
                }
            }
        }
    }
}

TEST(gram_equals_its_definition) {
    const std::size_t d = 20;
    const Table table(333, d, true);
    const auto rows = table.made(recipe(d, true, LossKind::squared));
    const auto parts = rows.parts();
    const std::size_t stride = parts.q.size / table.rows;
    const auto gram = rows.gram();
    for (std::size_t i = 0; i < rows.width(); ++i) {
        for (std::size_t j = 0; j < rows.width(); ++j) {
            std::int64_t sum = 0;
            for (std::size_t r = 0; r < table.rows; ++r) {
                const std::int16_t* row = parts.q.data + r * stride;
                sum += std::int64_t{row[i]} * row[j];
            }
            CHECK(gram[i * rows.width() + j] == sum);
        }
    }
}

TEST(scores_of_units_and_of_samples) {
    const std::size_t d = 9;
    const Table table(60, d, true);
    const auto how = recipe(d, false, LossKind::logistic);
    Grouping units;
    for (std::size_t i = 0; i < 60; ++i) units.rows.push_back(i);
    units.offsets = {0, 1, 3, 60};
    const std::vector<double> theta(d + 1, -0.2);
    check_all_alike([&] { return table.made(how, units).score(theta, 0.5); });
    check_all_alike([&] { return table.made(how, units).score_products(theta, 0.5); });
    std::vector<std::size_t> sample;
    for (std::size_t i = 0; i < 60; i += 1 + i % 3) sample.push_back(i);
    check_all_alike([&] { return table.made(how).round(theta, 0.5, &sample).gradient; });
}
