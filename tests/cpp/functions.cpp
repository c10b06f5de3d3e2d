// Where proofs take exp, expm1, log and log1p of the C library to be good to 1 ulp: values of each
// over the whole of its domain, near 0, and where its result or its argument is near 1.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "dpreg/noise/bits.hpp"
#include "dpreg/noise/samplers.hpp"
#include "printed.hpp"

using namespace dpreg;

namespace {

constexpr int kPoints = 10000;

std::uint64_t bits_of(double value) {
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

using Function = double (*)(double);

void print(const char* name, Function function, double x) {
    // Through memory, so that no compiler evaluates it itself.
    volatile double argument = x;
    std::printf("%s %016llx %016llx\n", name, static_cast<unsigned long long>(bits_of(x)),
                static_cast<unsigned long long>(bits_of(function(argument))));
}

void print_exponentials(double x) {
    print("exp", [](double v) { return std::exp(v); }, x);
    print("expm1", [](double v) { return std::expm1(v); }, x);
}

}  // namespace

void print_functions() {
    TestBits bits(5);
    for (int i = 0; i < kPoints; ++i) {
        const double u = uniform_open(bits);
        const auto exponent = static_cast<int>(bits.next() % 60);
        const double small = std::ldexp(2.0 * u - 1.0, -exponent);
        print_exponentials(1450.0 * u - 744.0);
        print_exponentials(small);
        print("log", [](double v) { return std::log(v); }, std::ldexp(u, 17 * (exponent - 30)));
        print("log", [](double v) { return std::log(v); }, 1.0 + small / 2.0);
        print("log1p", [](double v) { return std::log1p(v); }, small);
        print("log1p", [](double v) { return std::log1p(v); }, std::ldexp(u, 17 * exponent));
    }
}
