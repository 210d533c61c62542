#include "state/reader.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace paravane::state {

std::uint64_t Reader::number(Tag tag, std::uint64_t most) {
  return number_in(tag, require(tag), most);
}

std::optional<std::uint64_t> Reader::number_if(Tag tag, std::uint64_t most) {
  const auto found = find(tag);
  return found ? std::optional(number_in(tag, *found, most)) : std::nullopt;
}

std::uint64_t Reader::number_in(Tag tag, std::span<const std::byte> bytes, std::uint64_t most) {
  Le64 value;
  if (bytes.size() > sizeof value || (!bytes.empty() && bytes.back() == std::byte{0})) {
    refuse_at(tag, "not a number");
    return 0;
  }
  if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
  if (value.get() <= most) return value.get();
  refuse_at(tag, std::to_string(value.get()) + " is above " + std::to_string(most));
  return 0;
}

std::span<const std::byte> Reader::bytes(Tag tag, std::size_t most) {
  const auto found = require(tag);
  if (found.size() <= most) return found;
  refuse_at(tag, std::to_string(found.size()) + " bytes are more than " + std::to_string(most));
  return {};
}

void Reader::bytes_into(Tag tag, std::span<std::byte> to) {
  const auto found = require(tag);
  std::ranges::fill(to, std::byte{0});
  if (!good()) return;
  if (found.size() != to.size()) {
    return refuse_at(
        tag, std::to_string(found.size()) + " bytes instead of " + std::to_string(to.size()));
  }
  std::ranges::copy(found, to.begin());
}

Reader Reader::group(Tag tag) {
  return inside(tag, require(tag));
}

std::optional<Reader> Reader::group_if(Tag tag) {
  const auto found = find(tag);
  return found ? std::optional(inside(tag, *found)) : std::nullopt;
}

Reader Reader::inside(Tag tag, std::span<const std::byte> bytes) {
  Reader inner(bytes, *loading_);
  if (depth_ == kMostDepth) {
    refuse_at(tag, "too many groups in groups");
    return inner;
  }
  inner.path_ = path_;
  inner.path_[depth_] = place_of(tag);
  inner.depth_ = depth_ + 1;
  return inner;
}

void Reader::end() {
  while (const std::optional<Record> next = peek()) {
    if (!may_be_skipped(next->tag)) return refuse_at(next->tag, "is not known to this release");
    rest_ = rest_.subspan(sizeof(RecordHeader) + next->bytes.size());
  }
}

std::span<const std::byte> Reader::require(Tag tag) {
  const auto found = find(tag);
  if (!found && good()) refuse_at(tag, "is missing");
  return found.value_or(std::span<const std::byte>());
}

std::optional<std::span<const std::byte>> Reader::find(Tag tag) {
  while (const std::optional<Record> next = peek()) {
    const bool is_it = next->tag == tag;
    const bool may_pass = may_be_skipped(next->tag) && place_of(next->tag) == place_of(tag);
    if (!is_it && !may_pass && place_of(next->tag) >= place_of(tag)) return std::nullopt;
    if (!is_it && !may_be_skipped(next->tag)) {
      refuse_at(next->tag, "is not known to this release");
      return std::nullopt;
    }
    rest_ = rest_.subspan(sizeof(RecordHeader) + next->bytes.size());
    if (is_it) return next->bytes;
  }
  return std::nullopt;
}

std::optional<Reader::Record> Reader::peek() {
  if (!good() || rest_.empty()) return std::nullopt;
  RecordHeader header;
  if (rest_.size() < sizeof header) {
    refuse("it ends within a record");
    return std::nullopt;
  }
  std::memcpy(&header, rest_.data(), sizeof header);
  const Tag tag{header.tag.get()};
  if (header.bytes.get() > rest_.size() - sizeof header) {
    refuse_at(tag, "it ends within a record");
    return std::nullopt;
  }
  return Record{.tag = tag, .bytes = rest_.subspan(sizeof header, header.bytes.get())};
}

void Reader::refuse(std::string_view why) {
  refuse_at(Tag{}, why);
}

void Reader::refuse_at(Tag tag, std::string_view why) {
  if (!good()) return;
  std::string place;
  for (std::uint32_t i = 0; i < depth_; ++i) place += std::to_string(path_[i]) + ".";
  if (tag != Tag{}) place += std::to_string(place_of(tag));
  if (place.ends_with('.')) place.pop_back();
  if (!place.empty()) place += ": ";
  loading_->status_ =
      fail(Errc::kInvalidArgument, "the state is refused: " + place + std::string(why));
}

}  // namespace paravane::state
