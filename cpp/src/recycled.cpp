#include "dpreg/recycled.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace dpreg {
namespace {

// Of smaller ones the allocator keeps enough, and larger ones are few.
constexpr std::size_t kLeast = std::size_t{1} << 16;
constexpr std::size_t kMost = std::size_t{1} << 24;
// Blocks that are kept for others.
constexpr std::size_t kKept = 4;

using Free = std::vector<std::pair<std::size_t, std::unique_ptr<std::byte[]>>>;

std::mutex guard;
// Never destroyed: threads may give back memory while the process ends.
Free& free_blocks() {
    static auto* const blocks = new Free;
    return *blocks;
}

}  // namespace

void Recycle::operator()(std::byte* memory) const {
    std::unique_ptr<std::byte[]> block(memory);
    if (size < kLeast || size > kMost) return;
    const std::lock_guard<std::mutex> lock(guard);
    Free& blocks = free_blocks();
    // The oldest goes: sizes that nobody asks for any longer must not stay.
    if (blocks.size() == kKept) blocks.erase(blocks.begin());
    blocks.emplace_back(size, std::move(block));
}

Recycled recycled(std::size_t size) {
    {
        const std::lock_guard<std::mutex> lock(guard);
        Free& blocks = free_blocks();
        const auto found = std::find_if(blocks.rbegin(), blocks.rend(),
                                        [size](const auto& block) { return block.first == size; });
        if (found != blocks.rend()) {
            std::byte* const memory = found->second.release();
            blocks.erase(std::next(found).base());
            return {memory, Recycle{size}};
        }
    }
    return {new std::byte[size], Recycle{size}};
}

}  // namespace dpreg
