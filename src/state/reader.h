// Reader: reads the records of a state (tag.h), which may come from an enemy: a file that was
// changed, another host, an engine that a guest has taken over. Each value has a bound that the
// caller gives.
//
// The first thing that is wrong is kept in Loading, with the tags that lead to it. From then on all
// readers of that state give zeros, and lists are empty, so callers look once, at the end. A caller
// must not act on what it has read before that, or be able to undo it.
//
// One thread. The bytes, and Loading, outlive the readers.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "state/tag.h"

namespace paravane::state {

// What became of reading a state.
class Loading {
 public:
  bool good() const { return status_.has_value(); }
  // Errors: kInvalidArgument; the message is "the state is refused: 4.12.3: why".
  const Status& status() const { return status_; }

 private:
  friend class Reader;
  Status status_;
};

// The values of a list, where they stand in the state. Each is copied out when it is asked for.
template <typename T>
class ListView {
 public:
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) == 1);
  // REQUIRES: whole values.
  explicit ListView(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size() / sizeof(T); }
  T operator[](std::size_t index) const {
    T value;
    std::memcpy(&value, &bytes_[index * sizeof(T)], sizeof(T));
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

class Reader {
 public:
  // All of a state.
  Reader(std::span<const std::byte> bytes, Loading& loading) : rest_(bytes), loading_(&loading) {}

  // ---- One that must be there. Records are read in the order of their tags. ----
  std::uint64_t number(Tag tag, std::uint64_t most = UINT64_MAX);
  bool flag(Tag tag) { return number(tag, 1) != 0; }
  // `last`: the highest value; all from 0 on are valid.
  template <typename Enum>
  Enum choice(Tag tag, Enum last) {
    using Number = std::underlying_type_t<Enum>;
    return Enum{
        static_cast<Number>(number(tag, static_cast<std::uint64_t>(std::to_underlying(last))))};
  }
  // Empty if something is wrong.
  std::span<const std::byte> bytes(Tag tag, std::size_t most);
  // Values of one size, without padding, as Writer::list() writes them; `most` of them. Empty if
  // something is wrong.
  template <typename T>
  std::vector<T> list(Tag tag, std::size_t most) {
    const ListView<T> view = list_view<T>(tag, most);
    std::vector<T> values(view.size());
    for (std::size_t i = 0; i < view.size(); ++i) values[i] = view[i];
    return values;
  }
  // The same, without a copy of them all.
  template <typename T>
  ListView<T> list_view(Tag tag, std::size_t most) {
    const auto raw = bytes(tag, most * sizeof(T));
    if (raw.size() % sizeof(T) != 0) refuse_at(tag, "no list");
    return ListView<T>(good() ? raw : std::span<const std::byte>());
  }
  // Zeros if something is wrong, or another number of bytes.
  void bytes_into(Tag tag, std::span<std::byte> to);
  Reader group(Tag tag);

  // ---- One that may be there ----
  std::optional<std::uint64_t> number_if(Tag tag, std::uint64_t most = UINT64_MAX);
  // The next of a list, too.
  std::optional<Reader> group_if(Tag tag);

  // The group has no more records, but for those that may be skipped.
  void end();

  // What the caller knows better: the state says what cannot be.
  void refuse(std::string_view why);
  // The same, unless `is_good`; returns it.
  bool expect(bool is_good, std::string_view why) {
    if (!is_good) refuse(why);
    return is_good;
  }
  bool good() const { return loading_->good(); }
  // Of all of the state.
  const Status& status() const { return loading_->status(); }

 private:
  struct Record {
    Tag tag{};
    std::span<const std::byte> bytes;
  };
  // The record with that tag, if it comes next; passes those before it that may be skipped.
  std::optional<std::span<const std::byte>> find(Tag tag);
  std::span<const std::byte> require(Tag tag);
  std::optional<Record> peek();
  std::uint64_t number_in(Tag tag, std::span<const std::byte> bytes, std::uint64_t most);
  Reader inside(Tag tag, std::span<const std::byte> bytes);
  void refuse_at(Tag tag, std::string_view why);

  std::span<const std::byte> rest_;
  Loading* loading_;
  std::array<std::uint16_t, kMostDepth> path_{};  // tags of the groups around
  std::uint32_t depth_ = 0;
};

}  // namespace paravane::state
