#include <cstdio>

#include "check.hpp"

int main() {
    for (const auto& [name, test] : check::tests()) {
        std::printf("%s\n", name.c_str());
        std::fflush(stdout);
        test();
    }
    std::printf("%zu passed, 0 failed\n", check::tests().size());
}
