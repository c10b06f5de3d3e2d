// Registers all parts of the extension.
#include <pybind11/pybind11.h>

#include "dpreg/error.hpp"
#include "dpreg/parallel.hpp"

namespace py = pybind11;

void register_noise(py::module_& m);
void register_tukey(py::module_& m);
void register_rows(py::module_& m);
void register_selection(py::module_& m);
void register_frank_wolfe(py::module_& m);
void register_testing(py::module_& core);

PYBIND11_MODULE(_core, m) {
    m.doc() = "The C++ core of dpreg.  Use the dpreg package; names here may change.";
    // InvalidArgument needs no line: std::invalid_argument becomes ValueError.
    py::register_exception<dpreg::EntropyError>(m, "EntropyError", PyExc_RuntimeError)
        .attr("__doc__") = "The operating system gave no random bits: nothing was released.";
    m.def("use_threads", &dpreg::use_threads, py::arg("threads"));
    register_noise(m);
    register_tukey(m);
    register_rows(m);
    register_selection(m);
    register_frank_wolfe(m);
    register_testing(m);
}
