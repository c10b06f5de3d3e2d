#include <cstdio>
#include <cstring>

#include "check.hpp"
#include "dpreg/parallel.hpp"
#include "printed.hpp"

int main(int count, char** arguments) {
    dpreg::use_threads(2);
    if (count > 1 && std::strcmp(arguments[1], "digests") == 0) return print_digests() ? 0 : 1;
    if (count > 1 && std::strcmp(arguments[1], "functions") == 0) {
        print_functions();
        return 0;
    }
    for (const auto& [name, test] : check::tests()) {
        std::printf("%s\n", name.c_str());
        std::fflush(stdout);
        test();
    }
    std::printf("%zu passed, 0 failed\n", check::tests().size());
}
