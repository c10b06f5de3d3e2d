#pragma once

#include <stdexcept>

#ifdef __FAST_MATH__
#error "dpreg must not be compiled with -ffast-math: its privacy proofs rely on IEEE arithmetic"
#endif

namespace dpreg {

/// A caller broke a documented precondition that can be checked without data.
struct InvalidArgument : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// The operating system could not supply randomness.
struct EntropyError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Throws InvalidArgument with `message` unless `holds`.  For public preconditions only.
inline void require(bool holds, const char* message) {
    if (!holds) throw InvalidArgument(message);
}

}  // namespace dpreg
