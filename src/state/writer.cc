#include "state/writer.h"

#include <cassert>
#include <cstring>

namespace paravane::state {

Writer::Group::Group(Writer& writer, Tag tag) : writer_(writer) {
  writer_.begin(tag, 0);
  begins_at_ = writer_.bytes_.size();
  outer_place_ = std::exchange(writer_.last_place_, 0);
}

Writer::Group::~Group() {
  const Le32 bytes(static_cast<std::uint32_t>(writer_.bytes_.size() - begins_at_));
  std::memcpy(writer_.bytes_.data() + begins_at_ - sizeof bytes, &bytes, sizeof bytes);
  writer_.last_place_ = outer_place_;
}

// Without the bytes at the end that are zero: a number has one form.
void Writer::number(Tag tag, std::uint64_t value) {
  const Le64 whole(value);
  std::size_t size = sizeof whole;
  const auto all = std::as_bytes(std::span(&whole, 1));
  while (size > 0 && all[size - 1] == std::byte{0}) --size;
  bytes(tag, all.first(size));
}

void Writer::bytes(Tag tag, std::span<const std::byte> bytes) {
  begin(tag, bytes.size());
  append(bytes);
}

void Writer::begin(Tag tag, std::size_t bytes) {
  assert(place_of(tag) >= last_place_ && bytes <= UINT32_MAX);
  last_place_ = place_of(tag);
  const RecordHeader header{.tag = Le16(static_cast<std::uint16_t>(tag)),
                            .bytes = Le32(static_cast<std::uint32_t>(bytes))};
  append(std::as_bytes(std::span(&header, 1)));
}

}  // namespace paravane::state
