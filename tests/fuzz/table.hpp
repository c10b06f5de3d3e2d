// A table of any doubles, taken from the fuzzer's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "dpreg/matrix.hpp"

namespace fuzz {

/// Bytes in order; 0 when there are no more.
class Bytes {
public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    std::uint8_t byte() { return next_ < size_ ? data_[next_++] : std::uint8_t{0}; }
    std::size_t below(std::size_t bound) { return byte() % bound; }

    /// Any double: hostile ones by one byte, all others by eight.
    double cell() {
        constexpr double inf = std::numeric_limits<double>::infinity();
        static const double odd[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     5e-324,
                                     -1e-310,
                                     1e-300,
                                     1e300,
                                     -1e308,
                                     1e308,
                                     inf,
                                     -inf,
                                     0.5,
                                     2.0,
                                     3.0,
                                     1e6,
                                     std::numeric_limits<double>::quiet_NaN()};
        const auto kind = byte();
        if (kind < 200) return odd[kind % (sizeof odd / sizeof odd[0])];
        double value = 0.0;
        std::uint8_t raw[sizeof value];
        for (auto& b : raw) b = byte();
        std::memcpy(&value, raw, sizeof value);
        return value;
    }

private:
    const std::uint8_t* data_;
    std::size_t size_;
    std::size_t next_ = 0;
};

struct Table {
    std::size_t rows;
    std::size_t cols;
    std::vector<double> x;
    std::vector<double> y;

    explicit Table(Bytes& bytes) : rows(bytes.below(24)), cols(bytes.below(5)) {
        for (std::size_t k = 0; k < rows * cols; ++k) x.push_back(bytes.cell());
        for (std::size_t i = 0; i < rows; ++i) y.push_back(bytes.cell());
    }

    dpreg::MatrixView matrix() const {
        return {x.data(), rows, cols, static_cast<std::ptrdiff_t>(cols), 1};
    }
    /// Without the last row.
    dpreg::MatrixView shorter() const {
        auto view = matrix();
        view.rows = rows == 0 ? 0 : rows - 1;
        return view;
    }
    dpreg::VectorView response() const { return {y.data(), rows, 1}; }
    dpreg::VectorView shorter_response() const { return {y.data(), rows == 0 ? 0 : rows - 1, 1}; }
};

inline void demand(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
}

}  // namespace fuzz
