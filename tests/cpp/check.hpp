// A test is a function that is registered by name; a failed check ends the program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace check {

inline std::vector<std::pair<std::string, std::function<void()>>>& tests() {
    static std::vector<std::pair<std::string, std::function<void()>>> all;
    return all;
}

struct Register {
    Register(const char* name, std::function<void()> test) {
        tests().emplace_back(name, std::move(test));
    }
};

[[noreturn]] inline void fail(const char* file, int line, const char* condition) {
    std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, condition);
    std::exit(1);
}

}  // namespace check

#define TEST(name)                                             \
    static void name();                                        \
    static const check::Register register_##name(#name, name); \
    static void name()

#define CHECK(condition) \
    if (!(condition)) check::fail(__FILE__, __LINE__, #condition)

#define CHECK_THROWS(expression, exception)                             \
    try {                                                               \
        (void)(expression);                                             \
        check::fail(__FILE__, __LINE__, #expression " does not throw"); \
    } catch (const exception&) {                                        \
    }
