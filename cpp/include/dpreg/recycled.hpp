#pragma once

#include <cstddef>
#include <memory>

namespace dpreg {

/// Gives memory back to be handed out again.
struct Recycle {
    std::size_t size;
    void operator()(std::byte* memory) const;
};

/// Bytes that hold anything at first, aligned for any number.
using Recycled = std::unique_ptr<std::byte[], Recycle>;

/// Returns room for `size` bytes, where something else was before if that can be.
///
/// Blocks of rows come and go by the thousand and are as large as one another.  Were each in memory
/// that the process has just been given, the system would clear all of it first, which takes longer
/// than to fill it.
Recycled recycled(std::size_t size);

}  // namespace dpreg
