// For tests and benchmarks only: parts of samplers and mechanisms, and the choice of instructions.
#include <cstdint>

#include "dpreg/linalg/kernels.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/mechanisms/dp_kendall.hpp"
#include "dpreg/mechanisms/frank_wolfe.hpp"
#include "dpreg/mechanisms/tukey_em.hpp"
#include "dpreg/noise/bits.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/stats/column_counts.hpp"
#include "dpreg/stats/l1_gradient.hpp"
#include "dpreg/stats/tail_votes.hpp"
#include "numpy_view.hpp"

namespace {

using namespace dpreg;
using namespace dpreg::bind;

std::uint8_t bernoulli(std::uint64_t numerator, std::uint64_t denominator, BitSource& bits) {
    return bernoulli_exp(numerator, denominator, bits) ? 1 : 0;
}

}  // namespace

void register_testing(py::module_& core) {
    auto m = core.def_submodule("testing", "For tests and benchmarks; no part of a release.");
    m.attr("LARGEST_EXPONENT") = kLargestExponent;
    m.attr("MAX_STEPS") = kMaxSteps;
    m.attr("SAFETY_SENSITIVITY") = kSafetySensitivity;
    m.attr("SCREENING_FALL") = kScreeningFall;
    m.attr("SCREENING_RISE") = kScreeningRise;
    m.attr("VOTE_STEPS") = kVoteSteps;
    m.def("l1_gradient_sensitivity", &l1_gradient_sensitivity, "l1"_a);

    m.def("chacha20_block", &chacha20_block, "key"_a, "counter"_a, "nonce"_a);
    m.def("uniform_below", repeated<std::uint64_t, std::uint64_t, BitSource&>(&uniform_below),
          "bound"_a, "bits"_a, "size"_a);
    m.def("bernoulli_exp", repeated(&bernoulli), "numerator"_a, "denominator"_a, "bits"_a,
          "size"_a);
    m.def("noise_from_log_hazard", &noise_from_log_hazard, "log_q"_a, "law"_a);
    m.def("largest_of", repeated(&largest_of), "log_count"_a, "law"_a, "bits"_a, "size"_a);

    m.def("choose_by_gap", &choose_by_gap, "gaps"_a, "range"_a, "epsilon"_a, "bits"_a);
    m.def("choose_among", &choose_among, "log_weights"_a, "bits"_a);
    m.def("log_region_weights", &log_region_weights, "regions"_a, "epsilon"_a);
    m.def("draw_deep_point", &draw_deep_point, "regions"_a, "epsilon"_a, "t"_a, "bits"_a);
    m.def("ranks", [](const VectorView& x) { return rank_column(x).ranks; }, "x"_a);

    py::enum_<Instructions>(m, "Instructions")
        .value("portable", Instructions::portable)
        .value("avx2", Instructions::avx2)
        .value("avx512", Instructions::avx512);
    m.def("instruction_sets", &instruction_sets);
    m.def("instructions_in_use", &instructions_in_use);
    m.def("use_instructions", &use_instructions, "choice"_a);
}
