// Random bytes for a fuzzer, where there is no libFuzzer: for as many seconds as the argument says.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** arguments) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::seconds(count > 1 ? std::atol(arguments[1]) : 5);
    std::mt19937_64 random(1);
    long inputs = 0;
    while (Clock::now() < end) {
        std::vector<std::uint8_t> bytes(random() % 1000);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
        ++inputs;
    }
    std::printf("%s: %ld inputs\n", arguments[0], inputs);
}
