#include "search/tree.h"

#include <cstdlib>
#include <new>

namespace zf {

void fail_out_of_indices() {
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
}

void Tree::copy_subtree(uint32_t from, Tree& to) const {
    to.clear();
    copy_node(from, to);
}

uint32_t Tree::copy_node(uint32_t from, Tree& to) const {
    const uint32_t index = to.nodes_.allocate(1);
    Node copied = nodes_[from];
    if (copied.priors != kNoIndex) {
        const uint32_t length = copied.dense ? copied.num_slots : 2u * copied.num_slots;
        const uint32_t slots = to.slots_.allocate(length);
        std::copy(&slots_[copied.priors], &slots_[copied.priors] + length, &to.slots_[slots]);
        copied.priors = slots;
    }
    if (copied.edges != kNoIndex) {
        copied.edges = to.edges_.allocate(1u << copied.log2_capacity);
        for (uint32_t i = 0; i < copied.num_edges; ++i)
            to.edges_[copied.edges + i] = edges_[nodes_[from].edges + i];
    }
    to.nodes_[index] = copied;
    for (uint32_t i = 0; i < copied.num_edges; ++i) {
        const uint32_t child = to.edges_[copied.edges + i].child;
        if (child != kNoIndex) {
            const uint32_t moved = copy_node(child, to);
            to.edges_[copied.edges + i].child = moved;
        }
    }
    return index;
}

}  // namespace zf
