// Random bytes for a fuzzer, where there is no libFuzzer: as many inputs as the argument says,
// always the same ones.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** arguments) {
    const long inputs = count > 1 ? std::atol(arguments[1]) : 1000;
    std::mt19937_64 random(1);
    for (long done = 0; done < inputs; ++done) {
        std::vector<std::uint8_t> bytes(random() % 1000);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    std::printf("%s: %ld inputs\n", arguments[0], inputs);
}
