#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace dpreg {

/// Allocator that asks the system for large pages where a block is as large as one of them:
/// scattered reads and writes then miss the translation buffer less, and new memory is made
/// ready 512 pages at a time.  It is advice; without it memory is as usual.
template <class T>
struct HugePages {
    using value_type = T;

    static constexpr std::size_t kPage = std::size_t{1} << 21;

    HugePages() = default;
    template <class U>
    HugePages(const HugePages<U>& /*other*/) {}

    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
        if (n > (SIZE_MAX - kPage) / sizeof(T)) throw std::bad_alloc();
        if (bytes < kPage) return static_cast<T*>(::operator new(bytes));
        const std::size_t rounded = (bytes + kPage - 1) / kPage * kPage;
        void* block = std::aligned_alloc(kPage, rounded);
        if (block == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
        madvise(block, rounded, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(block);
    }

    void deallocate(T* block, std::size_t n) {
        if (n * sizeof(T) < kPage) {
            ::operator delete(block);
        } else {
            std::free(block);
        }
    }

    friend bool operator==(const HugePages& /*a*/, const HugePages& /*b*/) { return true; }
    friend bool operator!=(const HugePages& /*a*/, const HugePages& /*b*/) { return false; }
};

template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace dpreg
