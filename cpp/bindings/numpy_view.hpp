// The only file that turns numpy arrays into views and back.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/matrix.hpp"
#include "dpreg/stats/grouping.hpp"

namespace py = pybind11;

namespace dpreg::bind {

using namespace py::literals;

// Others are copied: numbers of a packed record may lie anywhere, and kernels rely on where.
inline constexpr int kAligned = py::array::forcecast | py::detail::npy_api::NPY_ARRAY_ALIGNED_;

using Array = py::array_t<double, kAligned>;
template <class T>
using Contiguous = py::array_t<T, py::array::c_style | kAligned>;
using Indices = std::optional<Contiguous<std::size_t>>;

/// The rows of each unit, as two index arrays; none when a unit is a row.
inline Grouping grouping(const Indices& offsets, const Indices& rows) {
    const auto copied = [](const Indices& from) {
        using Copy = std::vector<std::size_t>;
        return from ? Copy(from->data(), from->data() + from->size()) : Copy();
    };
    return {copied(offsets), copied(rows)};
}

inline std::ptrdiff_t element_stride(const Array& a, py::ssize_t axis) {
    // Where there is nothing to step to numpy leaves any stride.
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

inline std::vector<double> to_vector(const VectorView& view) {
    std::vector<double> result(view.size);
    for (std::size_t i = 0; i < view.size; ++i) result[i] = view[i];
    return result;
}

inline std::vector<double> row_major(const MatrixView& view) {
    std::vector<double> result;
    for (std::size_t i = 0; i < view.rows; ++i) {
        for (std::size_t j = 0; j < view.cols; ++j) result.push_back(view(i, j));
    }
    return result;
}

/// What `work` returns, while other threads of Python run.
template <class Work>
auto without_gil(const Work& work) {
    const py::gil_scoped_release release;
    return work();
}

template <class T>
py::array_t<T> to_array(const std::vector<T>& values) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size()), values.data());
}

/// A function of which the numbers become an array.
template <class Result, class... Arguments>
auto to_array(Result (*function)(Arguments...)) {
    return [function](Arguments... arguments) { return to_array(function(arguments...)); };
}

/// `size` draws of a sampler as an array.
template <class T, class Sampler>
py::array_t<T> draws(std::size_t size, Sampler sampler) {
    std::vector<T> values(size);
    for (auto& value : values) value = sampler();
    return to_array(values);
}

template <class T>
py::array_t<T> to_matrix(const std::vector<T>& values, std::size_t rows, std::size_t cols) {
    const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(rows),
                                         static_cast<py::ssize_t>(cols)};
    return py::array_t<T>(shape, values.data());
}

/// The numbers that `work` returns, while other threads of Python run.
template <class Work>
auto array_without_gil(const Work& work) {
    return to_array(without_gil(work));
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

}  // namespace dpreg::bind

namespace pybind11::detail {

template <>
struct type_caster<dpreg::MatrixView>
    : dpreg::bind::ViewCaster<dpreg::MatrixView, dpreg::bind::matrix_view> {};
template <>
struct type_caster<dpreg::VectorView>
    : dpreg::bind::ViewCaster<dpreg::VectorView, dpreg::bind::vector_view> {};

template <>
struct type_caster<dpreg::int128> {
    PYBIND11_TYPE_CASTER(dpreg::int128, const_name("int"));

    static handle cast(dpreg::int128 x, return_value_policy, handle) {
        const auto high = int_(static_cast<std::int64_t>(x >> 64)) << int_(64);
        return (high + int_(static_cast<std::uint64_t>(x))).release();
    }
};

}  // namespace pybind11::detail
