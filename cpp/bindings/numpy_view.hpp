// Conversion of numpy arrays to views and back, for all bindings.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/matrix.hpp"
#include "dpreg/stats/groups.hpp"

namespace py = pybind11;

namespace dpreg::bind {

using namespace py::literals;

// Others are copied: fields of a packed record may be unaligned, and kernels rely on alignment.
inline constexpr int kAligned = py::array::forcecast | py::detail::npy_api::NPY_ARRAY_ALIGNED_;

using Array = py::array_t<double, kAligned>;
template <class T>
using Contiguous = py::array_t<T, py::array::c_style | kAligned>;

/// Other threads of Python run during the call.
using Released = py::call_guard<py::gil_scoped_release>;

/// The rows of each unit, as two vectors of indices; none when a unit is a row.
using Indices = std::optional<std::vector<std::size_t>>;
inline Grouping grouping(Indices offsets, Indices rows) {
    return {std::move(offsets).value_or(std::vector<std::size_t>()),
            std::move(rows).value_or(std::vector<std::size_t>())};
}

inline std::ptrdiff_t element_stride(const Array& a, py::ssize_t axis) {
    // Strides of axes with at most one element are arbitrary in numpy.
    if (a.shape(axis) < 2) return 1;
    const auto size = static_cast<py::ssize_t>(sizeof(double));
    require(a.strides(axis) % size == 0, "arrays must hold whole doubles side by side");
    return a.strides(axis) / size;
}

inline MatrixView matrix_view(const Array& a) {
    require(a.ndim() == 2, "expected a matrix");
    return {a.data(), static_cast<std::size_t>(a.shape(0)), static_cast<std::size_t>(a.shape(1)),
            element_stride(a, 0), element_stride(a, 1)};
}

inline VectorView vector_view(const Array& a) {
    require(a.ndim() == 1, "expected a vector");
    return {a.data(), static_cast<std::size_t>(a.shape(0)), element_stride(a, 0)};
}

inline std::vector<double> row_major(const MatrixView& view) {
    std::vector<double> result;
    for (std::size_t i = 0; i < view.rows; ++i) {
        for (std::size_t j = 0; j < view.cols; ++j) result.push_back(view(i, j));
    }
    return result;
}

/// The result of `work`; other threads of Python run meanwhile.
template <class Work>
auto without_gil(const Work& work) {
    const py::gil_scoped_release release;
    return work();
}

/// A sampler of one number, as one of `size` of them, its last argument.
template <class Result, class... Arguments>
auto repeated(Result (*sampler)(Arguments...)) {
    return [sampler](Arguments... arguments, std::size_t size) {
        std::vector<Result> values(size);
        for (auto& value : values) value = sampler(arguments...);
        return values;
    };
}

template <class T>
py::array_t<T> to_matrix(const std::vector<T>& values, std::size_t rows, std::size_t cols) {
    const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(rows),
                                         static_cast<py::ssize_t>(cols)};
    return py::array_t<T>(shape, values.data());
}

/// A view of an array, kept for as long as a call lasts.
template <class View, View (*view)(const Array&)>
struct ViewCaster {
    PYBIND11_TYPE_CASTER(View, py::detail::const_name("numpy.ndarray[numpy.float64]"));
    ViewCaster() : value{} {}

    bool load(py::handle source, bool convert) {
        py::detail::make_caster<Array> caster;
        if (!caster.load(source, convert)) return false;
        kept_ = py::detail::cast_op<Array>(std::move(caster));
        value = view(kept_);
        return true;
    }

private:
    Array kept_;
};

/// Vectors of numbers from Python: arrays or any sequence of numbers, without fractions for
/// integers.
template <class T>
struct NumbersCaster {
    PYBIND11_TYPE_CASTER(std::vector<T>, py::detail::const_name("numpy.ndarray"));

    bool load(py::handle source, bool) {
        const auto array = py::array::ensure(source);
        if (!array || array.ndim() != 1) return false;
        constexpr std::string_view kinds = "iubf";
        if (kinds.find(array.dtype().kind()) == kinds.npos && array.size() > 0) return false;
        const auto numbers = Contiguous<T>::ensure(array);
        if (!numbers) return false;
        const auto kept = [&] { return array.attr("__eq__")(numbers).attr("all")(); };
        require(!std::is_integral_v<T> || array.dtype().equal(numbers.dtype()) ||
                    kept().template cast<bool>(),
                "an integer is below 0, is too large, or has a fraction");
        value.assign(numbers.data(), numbers.data() + numbers.size());
        return true;
    }

    static py::handle cast(const std::vector<T>& values, py::return_value_policy, py::handle) {
        return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data()).release();
    }
};

}  // namespace dpreg::bind

namespace pybind11::detail {

template <>
struct type_caster<dpreg::MatrixView>
    : dpreg::bind::ViewCaster<dpreg::MatrixView, dpreg::bind::matrix_view> {};
template <>
struct type_caster<dpreg::VectorView>
    : dpreg::bind::ViewCaster<dpreg::VectorView, dpreg::bind::vector_view> {};

// By their own names: of those with a width in theirs some are the same, and others elsewhere.
template <>
struct type_caster<std::vector<double>> : dpreg::bind::NumbersCaster<double> {};
template <>
struct type_caster<std::vector<unsigned char>> : dpreg::bind::NumbersCaster<unsigned char> {};
template <>
struct type_caster<std::vector<int>> : dpreg::bind::NumbersCaster<int> {};
template <>
struct type_caster<std::vector<unsigned>> : dpreg::bind::NumbersCaster<unsigned> {};
template <>
struct type_caster<std::vector<long>> : dpreg::bind::NumbersCaster<long> {};
template <>
struct type_caster<std::vector<unsigned long>> : dpreg::bind::NumbersCaster<unsigned long> {};
template <>
struct type_caster<std::vector<long long>> : dpreg::bind::NumbersCaster<long long> {};
template <>
struct type_caster<std::vector<unsigned long long>>
    : dpreg::bind::NumbersCaster<unsigned long long> {};

template <>
struct type_caster<dpreg::int128> {
    PYBIND11_TYPE_CASTER(dpreg::int128, const_name("int"));

    static handle cast(dpreg::int128 x, return_value_policy, handle) {
        const auto high = int_(static_cast<std::int64_t>(x >> 64)) << int_(64);
        return (high + int_(static_cast<std::uint64_t>(x))).release();
    }
};

}  // namespace pybind11::detail
