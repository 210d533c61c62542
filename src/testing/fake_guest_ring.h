// The ring arithmetic of the guest driver (device spec 6.2), applied as the
// driver applies it, to the two device rings with their odd sizes too (6.3).
// The words are shared with the device.

#pragma once

#include <atomic>
#include <cstdint>

namespace paravane::fake {

inline std::uint32_t load_word(const std::uint32_t& word) {
  return std::atomic_ref(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}
inline void store_word(std::uint32_t& word, std::uint32_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

class DriverRing {
 public:
  DriverRing() = default;
  DriverRing(std::uint32_t& prod_tail, std::uint32_t& cons_head, std::uint32_t elements)
      : prod_tail_(&prod_tail), cons_head_(&cons_head), n_(elements) {}

  enum class Look : std::uint8_t { kYes, kNo, kInvalid };

  // `slot`: where the next element is read, or written.
  Look has_data(std::uint32_t& slot) const {
    const std::uint32_t tail = load_word(*prod_tail_);
    const std::uint32_t head = load_word(*cons_head_);
    if (!valid(tail) || !valid(head)) return Look::kInvalid;
    slot = head & (n_ - 1);
    return tail != head ? Look::kYes : Look::kNo;
  }
  Look has_space(std::uint32_t& slot) const {
    const std::uint32_t tail = load_word(*prod_tail_);
    const std::uint32_t head = load_word(*cons_head_);
    if (!valid(tail) || !valid(head)) return Look::kInvalid;
    slot = tail & (n_ - 1);
    return tail != (head ^ n_) ? Look::kYes : Look::kNo;
  }
  void produce() { step(*prod_tail_); }
  void consume() { step(*cons_head_); }

  std::uint32_t elements() const { return n_; }
  std::uint32_t tail() const { return load_word(*prod_tail_); }
  std::uint32_t head() const { return load_word(*cons_head_); }
  bool valid(std::uint32_t index) const { return (index & ~(2 * n_ - 1)) == 0; }
  void set_tail(std::uint32_t value) { store_word(*prod_tail_, value); }
  void set_head(std::uint32_t value) { store_word(*cons_head_, value); }

 private:
  void step(std::uint32_t& word) { store_word(word, (load_word(word) + 1) & (2 * n_ - 1)); }

  std::uint32_t* prod_tail_ = nullptr;
  std::uint32_t* cons_head_ = nullptr;
  std::uint32_t n_ = 1;
};

}  // namespace paravane::fake
