#include <optional>

#include "dpreg/mechanisms/exponential.hpp"
#include "dpreg/mechanisms/propose_test_release.hpp"
#include "dpreg/mechanisms/tukey_em.hpp"
#include "numpy_view.hpp"

namespace {

namespace py = pybind11;
using namespace py::literals;
using namespace dpreg;
using namespace dpreg::bind;

}  // namespace

void register_mechanisms(py::module_& m) {
    m.def(
        "choose_index",
        [](const VectorView& log_weights, BitSource& bits) {
            return choose_index(to_vector(log_weights), bits);
        },
        "log_weights"_a, "bits"_a);
    m.def("release_threshold", &release_threshold, "epsilon"_a, "delta"_a);
    m.def("passes_release_test", &passes_release_test, "distance"_a, "epsilon"_a, "delta"_a,
          "bits"_a);
    m.def("rounding_is_paid", &rounding_is_paid, "models"_a, "dimension"_a, "epsilon_sample"_a);
    m.def(
        "tukey_em",
        [](const DepthRegions& regions, std::size_t depth, double epsilon_test,
           double epsilon_sample, double delta, BitSource& bits) -> std::optional<Array> {
            const auto point =
                tukey_em(regions, {depth, epsilon_test, epsilon_sample, delta}, bits);
            if (!point) return {};
            return to_array(*point);
        },
        "regions"_a, py::kw_only(), "depth"_a, "epsilon_test"_a, "epsilon_sample"_a, "delta"_a,
        "bits"_a);
}
