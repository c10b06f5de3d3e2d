#include <cstdint>

#include "dpreg/noise/bits.hpp"
#include "dpreg/noise/samplers.hpp"
#include "numpy_view.hpp"

using namespace dpreg;
using namespace dpreg::bind;

void register_noise(py::module_& m) {
    py::class_<BitSource>(m, "BitSource")
        .def("next", &BitSource::next)
        .def_property_readonly("seeded", &BitSource::seeded);
    py::class_<SystemBits, BitSource>(m, "SystemBits").def(py::init<>());
    py::class_<TestBits, BitSource>(m, "TestBits").def(py::init<std::uint64_t>(), "seed"_a);

    m.def("uniform_open", repeated(&uniform_open), "bits"_a, "size"_a);
    m.def("standard_exponential", repeated(&standard_exponential), "bits"_a, "size"_a);
    m.def("standard_gumbel", repeated(&standard_gumbel), "bits"_a, "size"_a);
    m.def(
        "discrete_laplace",
        [](double epsilon, BitSource& bits, std::size_t size) {
            return repeated(&discrete_laplace)(fraction_at_most(epsilon), bits, size);
        },
        "epsilon"_a, "bits"_a, "size"_a);
    m.def(
        "discrete_gaussian",
        [](std::uint64_t sigma, BitSource& bits, std::size_t size) {
            return discrete_gaussian(sigma, size, bits);
        },
        "sigma"_a, "bits"_a, "size"_a);
    m.def("discrete_laplace_tail", &discrete_laplace_tail, "x"_a, "epsilon"_a);

    py::class_<Assignment>(m, "Assignment")
        .def_readonly("members", &Assignment::members)
        .def_readonly("offsets", &Assignment::offsets);
    m.def("assign_to_slots", &assign_to_slots, "n"_a, "models"_a, "batch"_a, "bits"_a);
    m.def("assign_independently", &assign_independently, "n"_a, "models"_a, "bits"_a);
}
