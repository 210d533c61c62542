// Writer: writes the records of a state (tag.h). A value has one way to be written, so that equal
// states are equal bytes.
//
// One thread. std::bad_alloc ends what is written.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "state/tag.h"

namespace paravane::state {

class Writer {
 public:
  // While it lives, records go into this group. Groups end in the reverse order of their
  // beginnings.
  class Group {
   public:
    Group(Writer& writer, Tag tag);
    ~Group();
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

   private:
    Writer& writer_;
    std::size_t begins_at_;
    std::uint16_t outer_place_;
  };

  // A list that is written value by value; otherwise as list(). Nothing else is written while it
  // lives.
  template <typename T>
  class List {
   public:
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
    List(Writer& writer, Tag tag) : record_(writer, tag), writer_(writer) {}
    void add(const T& value) { writer_.append(std::as_bytes(std::span(&value, 1))); }

   private:
    Group record_;
    Writer& writer_;
  };

  // REQUIRES, of all: within a group, tags do not decrease.
  void number(Tag tag, std::uint64_t value);
  void flag(Tag tag, bool value) { number(tag, value ? 1 : 0); }
  template <typename Enum>
  void choice(Tag tag, Enum value) {
    number(tag, static_cast<std::uint64_t>(std::to_underlying(value)));
  }
  void bytes(Tag tag, std::span<const std::byte> bytes);
  // Values of one size, without padding.
  template <typename T>
  void list(Tag tag, const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
    bytes(tag, std::as_bytes(std::span(values)));
  }

  std::vector<std::byte> take() { return std::exchange(bytes_, {}); }

 private:
  void begin(Tag tag, std::size_t bytes);
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::byte> bytes_;
  std::uint16_t last_place_ = 0;  // in the group that is being written
};

}  // namespace paravane::state
