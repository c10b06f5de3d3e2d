// Digests of what kernels compute from fixed inputs, one line each: for builds for two processors,
// which must print the same lines.  Nothing here calls a logarithm of the library.
#include "printed.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dpreg/linalg/dense.hpp"
#include "dpreg/linalg/kernels.hpp"
#include "dpreg/mechanisms/dp_kendall.hpp"
#include "dpreg/mechanisms/sub_lasso.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/stats/batch_fit.hpp"
#include "dpreg/stats/column_counts.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "dpreg/stats/tail_votes.hpp"

using namespace dpreg;

namespace {

constexpr std::size_t kRows = 999;
constexpr std::size_t kColumns = 11;

/// FNV-1a of the bytes of numbers.
class Digest {
public:
    template <class Number>
    void add(const std::vector<Number>& numbers) {
        for (const Number& number : numbers) add(number);
    }

    template <class Number>
    void add(const QuantisedRows::Span<Number>& numbers) {
        for (std::size_t i = 0; i < numbers.size; ++i) add(numbers.data[i]);
    }

    template <class Number>
    void add(Number number) {
        static_assert(std::is_arithmetic_v<Number>, "the bytes of others are of one machine");
        unsigned char bytes[sizeof number];
        std::memcpy(bytes, &number, sizeof number);
        for (const unsigned char byte : bytes) value_ = (value_ ^ byte) * 1099511628211U;
    }

    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 14695981039346656037U;
};

/// Records of numbers of many sizes, some of them odd.
struct Table {
    std::vector<double> x, y;

    Table() : x(kRows * kColumns), y(kRows) {
        TestBits bits(1);
        for (auto& v : x) {
            const double size = uniform_open(bits) - 0.4;
            v = std::ldexp(size, static_cast<int>(bits.next() % 5));
        }
        for (auto& v : y) v = 8.0 * uniform_open(bits) - 3.0;
        x[5] = std::numeric_limits<double>::quiet_NaN();
        x[50] = -1e300;
        x[500] = 5e-324;
        y[7] = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < kRows; ++i) x[i * kColumns + 3] = static_cast<double>(i % 3);
    }

    MatrixView matrix() const {
        return {x.data(), kRows, kColumns, static_cast<std::ptrdiff_t>(kColumns), 1};
    }
    VectorView response() const { return {y.data(), kRows, 1}; }
};

Standardisation recipe(const Loss& loss, bool mapped) {
    Standardisation how;
    for (std::size_t j = 0; j + 1 < kColumns; ++j) how.columns.push_back(j);
    const std::size_t used = how.columns.size();
    how.low.assign(used, -9.0);
    how.high.assign(used, 9.0);
    how.centre.assign(used, 0.3);
    how.inverse_scale.assign(used, 0.7);
    how.row_limit = 3.0;
    how.loss = loss;
    how.weight = used;
    how.most_weight = 2.0;
    if (!mapped) return how;
    TestBits bits(2);
    how.mapped = used + 1;
    how.map.resize(how.mapped * how.mapped);
    for (auto& v : how.map) v = uniform_open(bits) - 0.5;
    return how;
}

std::vector<Loss> losses() {
    std::vector<Loss> all;
    for (const auto kind :
         {LossKind::squared, LossKind::logistic, LossKind::probit, LossKind::cloglog,
          LossKind::poisson, LossKind::gamma, LossKind::negative_binomial, LossKind::quantile}) {
        Loss loss;
        loss.kind = kind;
        loss.most_response = 5.0;
        loss.least_predictor = -30.0;
        loss.most_predictor = 3.0;
        loss.level = 0.3;
        loss.bandwidth = 0.05;
        all.push_back(loss);
    }
    return all;
}

void rows(const Table& table, Digest& digest) {
    const std::vector<double> theta(kColumns, 0.37);
    for (const auto& loss : losses()) {
        for (const bool mapped : {false, true}) {
            const QuantisedRows made(table.matrix(), table.response(), recipe(loss, mapped), {});
            const auto parts = made.parts();
            digest.add(parts.q);
            digest.add(parts.y);
            digest.add(parts.weights);
            digest.add(made.gram());
            digest.add(made.round(theta, 1.3).gradient);
            digest.add(made.score(theta, 1.7));
            digest.add(made.score_norms(theta));
            digest.add(made.score_products(theta, 1.7));
            digest.add(made.curvature(theta, 1.7));
        }
    }
}

void columns(const Table& table, Digest& digest) {
    const std::vector<double> low(kColumns, -1.1);
    const std::vector<double> high(kColumns, 2.3);
    digest.add(magnitude_counts(table.matrix()));
    digest.add(interval_counts(table.matrix(), low, high, 16));
    digest.add(moment_sums(table.matrix(), low, high));
    std::vector<double> wide(kColumns + 1, 5.0);
    const Limits near{std::vector<double>(kColumns + 1, -0.3),
                      std::vector<double>(kColumns + 1, 0.9)};
    const Limits far{std::vector<double>(kColumns + 1, -5.0), wide};
    const Line line{std::vector<double>(kColumns, 0.21), 0.1};
    digest.add(tail_votes(table.matrix(), table.response(), line, {near, far}, 1.3));
}

void sums_of_doubles(const Table& table, Digest& digest) {
    constexpr std::size_t wide = 16;
    std::vector<double> a(kRows * wide, 0.0);
    for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t j = 0; j < kColumns; ++j) {
            const double value = table.x[i * kColumns + j];
            a[i * wide + j] = std::fabs(value) < 100.0 ? value : 1.0;
        }
    }
    std::vector<double> gram(wide * wide, 0.0);
    add_gram(a.data(), kRows, wide, gram.data());
    digest.add(gram);
    std::vector<double> products(wide * wide, 0.0);
    add_crossprod(a.data(), a.data(), kRows, wide, wide, products.data());
    digest.add(products);
    for (std::size_t j = 0; j < wide; ++j) gram[j * wide + j] += 1.0;
    cholesky_factor(gram.data(), kColumns, wide);
    std::vector<double> solution(table.y.begin() + 20, table.y.begin() + 20 + kColumns);
    cholesky_solve(gram.data(), kColumns, wide, solution.data());
    digest.add(solution);
}

Assignment in_tens() {
    Assignment blocks;
    blocks.offsets.push_back(0);
    for (std::size_t i = 0; i < kRows; ++i) {
        blocks.members.push_back((i * 500) % kRows);
        if (i % 90 == 89) blocks.offsets.push_back(i + 1);
    }
    blocks.offsets.push_back(kRows);
    return blocks;
}

void batches(const Table& table, Digest& digest) {
    BatchFit fit;
    digest.add(fit_batches(table.matrix(), table.response(), in_tens(), {}, fit));
    const BatchLasso lasso;
    digest.add(fit_lasso_batches(table.matrix(), table.response(), in_tens(), {}, lasso));
}

void ranks(const Table& table, Digest& digest) {
    for (std::size_t j = 0; j < kColumns; ++j) {
        const VectorView column{table.x.data() + j, kRows, static_cast<std::ptrdiff_t>(kColumns)};
        digest.add(kendall_tau(column, table.response()));
    }
}

void exact_noise(const Table&, Digest& digest) {
    TestBits bits(3);
    for (const std::uint64_t sigma :
         {std::uint64_t{1}, std::uint64_t{977}, std::uint64_t{1} << 40}) {
        digest.add(discrete_gaussian(sigma, 500, bits));
    }
    for (std::size_t i = 0; i < 500; ++i) digest.add(discrete_laplace({i + 1, 300}, bits));
}

using Group = std::pair<std::string, std::function<void(const Table&, Digest&)>>;

}  // namespace

bool print_digests() {
    const std::vector<Group> groups{
        {"quantised rows", rows},     {"columns", columns}, {"sums of doubles", sums_of_doubles},
        {"fits of batches", batches}, {"ranks", ranks},     {"exact noise", exact_noise}};
    const Table table;
    bool alike = true;
    for (const auto& [name, group] : groups) {
        std::uint64_t first = 0;
        for (const auto set : instruction_sets()) {
            use_instructions(set);
            Digest digest;
            group(table, digest);
            if (set == Instructions::portable) first = digest.value();
            alike = alike && digest.value() == first;
        }
        std::printf("%-16s %016llx\n", name.c_str(), static_cast<unsigned long long>(first));
    }
    return alike;
}
