#include <cstdint>

#include "dpreg/noise/assignment.hpp"
#include "dpreg/noise/bits.hpp"
#include "dpreg/noise/discrete.hpp"
#include "dpreg/noise/uniform.hpp"
#include "numpy_view.hpp"

namespace {

using namespace dpreg;
using namespace dpreg::bind;

void register_sources(py::module_& m) {
    py::class_<BitSource>(m, "BitSource")
        .def("next", &BitSource::next)
        .def_property_readonly("seeded", &BitSource::seeded);
    py::class_<SystemBits, BitSource>(m, "SystemBits").def(py::init<>());
    py::class_<TestBits, BitSource>(m, "TestBits").def(py::init<std::uint64_t>(), "seed"_a);
}

void register_samplers(py::module_& m) {
    m.def(
        "uniform_open",
        [](BitSource& bits, std::size_t size) {
            return draws<double>(size, [&] { return uniform_open(bits); });
        },
        "bits"_a, "size"_a);
    m.def(
        "standard_exponential",
        [](BitSource& bits, std::size_t size) {
            return draws<double>(size, [&] { return standard_exponential(bits); });
        },
        "bits"_a, "size"_a);
    m.def(
        "standard_gumbel",
        [](BitSource& bits, std::size_t size) {
            return draws<double>(size, [&] { return standard_gumbel(bits); });
        },
        "bits"_a, "size"_a);
    m.def(
        "discrete_laplace",
        [](double epsilon, BitSource& bits, std::size_t size) {
            const auto fraction = fraction_at_most(epsilon);
            return draws<std::int64_t>(size, [&] { return discrete_laplace(fraction, bits); });
        },
        "epsilon"_a, "bits"_a, "size"_a);
    m.def(
        "discrete_gaussian",
        [](std::uint64_t sigma, BitSource& bits, std::size_t size) {
            return to_array(discrete_gaussian(sigma, size, bits));
        },
        "sigma"_a, "bits"_a, "size"_a);
    m.def("discrete_laplace_tail", &discrete_laplace_tail, "x"_a, "epsilon"_a);
}

void register_assignments(py::module_& m) {
    py::class_<Assignment>(m, "Assignment")
        .def_property_readonly("members", [](const Assignment& a) { return to_array(a.members); })
        .def_property_readonly("offsets", [](const Assignment& a) { return to_array(a.offsets); });
    m.def("assign_to_slots", &assign_to_slots, "n"_a, "models"_a, "batch"_a, "bits"_a);
    m.def("assign_independently", &assign_independently, "n"_a, "models"_a, "bits"_a);
}

}  // namespace

void register_noise(py::module_& m) {
    register_sources(m);
    register_samplers(m);
    register_assignments(m);
}
