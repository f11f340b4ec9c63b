// The memory of a search tree: nodes, visited edges, and the priors of unvisited actions.
//
// Everything is in three arenas, addressed by index. An edge is made at its first visit; until then
// only its prior is stored, in sixteen bits, and each node knows the largest one. A node of 225
// actions takes about half a kilobyte, and a visit touches only the node and its visited edges.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/half.h"
#include "search/evaluation.h"

namespace zf {

inline constexpr uint32_t kNoIndex = 0xffffffff;

// The most nodes, edges or prior slots of a tree: it is full long before 32-bit indices overflow.
inline constexpr uint32_t kMaxTreeItems = 1u << 31;

struct Edge {
    uint32_t child = kNoIndex;  // first of its nodes; several only where hands are hidden
    uint32_t visits = 0;
    float mean_first_player = 0;  // of all visits, or proven; divided by the largest reward
    float weight = 0;             // prior of an action, probability of a chance outcome
    uint32_t available = 0;       // pooled nodes: visits in which the action was legal
    Action action = 0;
    bool solved = false;
    uint8_t plies_to_end = 0;  // once solved, see proof_plies; kMaxProofPlies for more
};
inline constexpr uint8_t kMaxProofPlies = 255;

enum class NodeKind : uint8_t { decision, chance, pooled };

struct Node {
    uint64_t key = 0;  // of the mover's observation, where hands are hidden
    uint32_t next_sibling = kNoIndex;
    uint32_t edges = kNoIndex;   // index of the first edge
    uint32_t priors = kNoIndex;  // index of the first prior slot
    uint32_t visits = 0;
    float mean_first_player = 0;  // of all visits, or proven
    float evaluation_first_player = 0;
    float visited_prior = 0;  // prior mass of the visited edges
    uint16_t num_edges = 0;
    uint16_t num_slots = 0;  // prior slots: legal actions, or all actions if dense
    uint16_t num_unvisited = 0;
    uint16_t best_slot = 0;     // of the largest unvisited prior
    uint8_t log2_capacity = 0;  // of the block of edges
    NodeKind kind = NodeKind::decision;
    Mover mover = 0;        // at chance nodes: the roller
    bool dense = false;     // prior slot i belongs to action i
    bool provable = false;  // nothing is hidden here, so proofs are exact
    bool solved = false;
    bool evaluated = false;  // false while its evaluation is in flight
};

// Fails as an allocation does.
[[noreturn]] void fail_out_of_indices();

// Grows by half, never shrinks, does not initialise. Kept between searches.
template <class T>
class Arena {
  public:
    T& operator[](uint32_t index) { return items_[index]; }
    const T& operator[](uint32_t index) const { return items_[index]; }
    uint32_t size() const { return size_; }
    void clear() { size_ = 0; }
    uint64_t num_bytes() const { return uint64_t(size_) * sizeof(T); }
    // Bytes allocated once `more` items fit.
    uint64_t num_bytes_held(uint64_t more) const {
        return (size_ + more > capacity_ ? grown_capacity(more) : capacity_) * sizeof(T);
    }

    uint32_t allocate(uint32_t count) {
        if (uint64_t(size_) + count > capacity_) grow(count);
        size_ += count;
        return size_ - count;
    }

  private:
    uint64_t grown_capacity(uint64_t more) const {
        return std::max(size_ + more, capacity_ + capacity_ / 2 + 16);
    }

    void grow(uint32_t count) {
        const uint64_t wanted = std::min<uint64_t>(grown_capacity(count), kNoIndex);
        if (wanted < uint64_t(size_) + count) fail_out_of_indices();
        auto grown = std::make_unique_for_overwrite<T[]>(wanted);
        std::copy(items_.get(), items_.get() + size_, grown.get());
        items_ = std::move(grown);
        capacity_ = wanted;
    }

    std::unique_ptr<T[]> items_;
    uint32_t size_ = 0;
    uint64_t capacity_ = 0;
};

class Tree {
  public:
    explicit Tree(uint32_t max_items = kMaxTreeItems) : max_items_(max_items) {}

    Node& node(uint32_t index) { return nodes_[index]; }
    const Node& node(uint32_t index) const { return nodes_[index]; }
    Edge& edge(const Node& node, uint32_t i) { return edges_[node.edges + i]; }
    const Edge& edge(const Node& node, uint32_t i) const { return edges_[node.edges + i]; }
    // Bytes in use.
    uint64_t num_bytes() const {
        return nodes_.num_bytes() + edges_.num_bytes() + slots_.num_bytes();
    }
    // Whether so many more simulations fit, with at most `most_edges` edges per node: into
    // max_bytes and into the range of indices.
    bool has_room(uint64_t num_simulations, uint64_t most_edges, uint64_t max_bytes) const {
        const uint64_t some = num_simulations * (2 * most_edges + 64);
        const uint64_t most =
            std::max({nodes_.size() + num_simulations, edges_.size() + some, slots_.size() + some});
        return most <= max_items_ && nodes_.num_bytes_held(num_simulations) +
                                             edges_.num_bytes_held(some) +
                                             slots_.num_bytes_held(some) <=
                                         max_bytes;
    }

    void clear() {
        nodes_.clear();
        edges_.clear();
        slots_.clear();
        for (uint32_t& head : free_blocks_) head = kNoIndex;
    }

    uint32_t add_node(NodeKind kind, Mover mover) {
        const uint32_t index = nodes_.allocate(1);
        nodes_[index] = Node{};
        nodes_[index].kind = kind;
        nodes_[index].mover = mover;
        return index;
    }

    // Stores the priors of a node's legal actions, in order.
    void set_priors(uint32_t index, std::span<const Action> legal, std::span<const Half> priors,
                    int num_actions) {
        Node& node = nodes_[index];
        const uint32_t count = uint32_t(legal.size());
        node.dense = count * 2 >= uint32_t(num_actions);
        node.num_slots = uint16_t(node.dense ? num_actions : count);
        node.num_unvisited = uint16_t(count);
        node.priors = slots_.allocate(node.dense ? num_actions : 2 * count);
        Half* slots = &slots_[node.priors];
        if (node.dense) {
            std::memset(slots, 0, num_actions * sizeof(Half));
            for (uint32_t i = 0; i < count; ++i) slots[legal[i]] = priors[i];
        } else {
            std::copy(priors.begin(), priors.end(), slots);
            std::copy(legal.begin(), legal.end(), slots + count);
        }
        find_best_slot(node);
    }

    float best_prior(const Node& node) const {
        return from_half(slots_[node.priors + node.best_slot]);
    }
    Action slot_action(const Node& node, uint32_t slot) const {
        return node.dense ? Action(slot) : slots_[node.priors + node.num_slots + slot];
    }
    // The prior of a slot that is not yet an edge, else 0.
    float slot_prior(const Node& node, uint32_t slot) const {
        return from_half(slots_[node.priors + slot]);
    }
    void set_slot_prior(const Node& node, uint32_t slot, float prior) {
        slots_[node.priors + slot] = std::max<Half>(1, to_half(prior));
    }
    void find_best_slot(Node& node) {
        const Half* slots = &slots_[node.priors];
        Half largest = 0;
        for (uint32_t i = 0; i < node.num_slots; ++i) largest = std::max(largest, slots[i]);
        uint32_t at = 0;
        while (slots[at] != largest) ++at;
        node.best_slot = uint16_t(at);
    }

    // Makes the best unvisited slot an edge; returns its number among the node's edges.
    uint32_t visit_best_slot(uint32_t index) { return visit_slot(index, nodes_[index].best_slot); }
    uint32_t visit_slot(uint32_t index, uint32_t slot) {
        const Action action = slot_action(nodes_[index], slot);
        const float prior = slot_prior(nodes_[index], slot);
        const uint32_t at = add_edge(index, action, prior);
        Node& node = nodes_[index];
        slots_[node.priors + slot] = 0;
        node.visited_prior += prior;
        --node.num_unvisited;
        if (slot == node.best_slot && node.num_unvisited > 0) find_best_slot(node);
        return at;
    }

    // Allocates so many edges at once, for a node without edges.
    void reserve_edges(uint32_t index, uint32_t count) {
        Node& node = nodes_[index];
        node.log2_capacity = uint8_t(std::countr_zero(std::bit_ceil(count)));
        node.edges = take_block(node.log2_capacity);
    }

    uint32_t add_edge(uint32_t index, Action action, float weight) {
        Node& node = nodes_[index];
        if (node.edges == kNoIndex) {
            node.log2_capacity = 1;
            node.edges = take_block(1);
        } else if (node.num_edges == 1u << node.log2_capacity) {
            const uint32_t grown = take_block(node.log2_capacity + 1);
            std::copy(&edges_[node.edges], &edges_[node.edges] + node.num_edges, &edges_[grown]);
            edges_[node.edges].child = free_blocks_[node.log2_capacity];
            free_blocks_[node.log2_capacity] = node.edges;
            node.edges = grown;
            ++node.log2_capacity;
        }
        Edge& edge = edges_[node.edges + node.num_edges];
        edge = Edge{};
        edge.action = action;
        edge.weight = weight;
        return node.num_edges++;
    }

    // The node's edge for a legal action; made if unvisited.
    uint32_t edge_for(uint32_t index, Action action) {
        const Node& node = nodes_[index];
        const uint32_t found = find_edge(node, action);
        if (found != kNoIndex) return found;
        uint32_t slot = 0;
        while (slot_action(node, slot) != action) ++slot;
        return visit_slot(index, slot);
    }

    // The node's edge for an action, or kNoIndex.
    uint32_t find_edge(const Node& node, Action action) const {
        for (uint32_t i = 0; i < node.num_edges; ++i)
            if (edges_[node.edges + i].action == action) return i;
        return kNoIndex;
    }

    // The evaluated node that these actions and chance outcomes lead to, or kNoIndex. `from` may be
    // kNoIndex.
    uint32_t find_evaluated(uint32_t from, std::span<const Action> played) const {
        uint32_t index = from;
        for (const Action id : played) {
            if (index == kNoIndex) return kNoIndex;
            const uint32_t at = find_edge(node(index), id);
            index = at == kNoIndex ? kNoIndex : edge(node(index), at).child;
        }
        return index != kNoIndex && node(index).evaluated ? index : kNoIndex;
    }

    // Copies the subtree under `from` into `to`, which is cleared first; `from` becomes its node 0.
    void copy_subtree(uint32_t from, Tree& to) const;

  private:
    // A block of 2^log2 edges, reusing one that a node has outgrown if there is any.
    uint32_t take_block(uint32_t log2) {
        const uint32_t head = free_blocks_[log2];
        if (head == kNoIndex) return edges_.allocate(1u << log2);
        free_blocks_[log2] = edges_[head].child;
        return head;
    }

    uint32_t copy_node(uint32_t from, Tree& to) const;

    Arena<Node> nodes_;
    Arena<Edge> edges_;
    Arena<uint16_t> slots_;  // per node its priors; then, if not dense, its actions
    uint32_t max_items_;     // of each arena
    uint32_t free_blocks_[18] = {kNoIndex, kNoIndex, kNoIndex, kNoIndex, kNoIndex, kNoIndex,
                                 kNoIndex, kNoIndex, kNoIndex, kNoIndex, kNoIndex, kNoIndex,
                                 kNoIndex, kNoIndex, kNoIndex, kNoIndex, kNoIndex, kNoIndex};
};

}  // namespace zf
