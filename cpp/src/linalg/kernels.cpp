#include "dpreg/linalg/kernels.hpp"

#include <algorithm>
#include <atomic>

#include "dpreg/error.hpp"
#include "dpreg/linalg/simd.hpp"

namespace dpreg {
namespace {

Instructions best_instructions() noexcept {
#if DPREG_X86
    __builtin_cpu_init();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (avx512) return Instructions::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Instructions::avx2;
#endif
    return Instructions::portable;
}

std::atomic<Instructions>& in_use() noexcept {
    static std::atomic<Instructions> chosen{best_instructions()};
    return chosen;
}

}  // namespace

std::vector<Instructions> instruction_sets() {
    std::vector<Instructions> sets;
    for (std::size_t k = 0; k <= static_cast<std::size_t>(best_instructions()); ++k) {
        sets.push_back(static_cast<Instructions>(k));
    }
    return sets;
}

Instructions instructions_in_use() noexcept { return in_use().load(std::memory_order_relaxed); }

void use_instructions(Instructions choice) {
    require(choice <= best_instructions(), "this processor does not have these instructions");
    in_use().store(choice, std::memory_order_relaxed);
}

}  // namespace dpreg
