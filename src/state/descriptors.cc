#include "state/descriptors.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

namespace paravane::state {

Descriptors::Descriptors(std::vector<UniqueFd> received) : received_(std::move(received)) {
  received_.resize(std::min(received_.size(), kMost));
}

void Descriptors::save(Writer& out, Tag tag, int fd) {
  assert(fd >= 0);
  out.number(tag, borrowed_.size());
  borrowed_.push_back(fd);
}

UniqueFd Descriptors::load(Reader& in, Tag tag) {
  return give_away(in, in.number(tag, kMost - 1));
}

UniqueFd Descriptors::load_if(Reader& in, Tag tag) {
  const std::optional<std::uint64_t> number = in.number_if(tag, kMost - 1);
  return number ? give_away(in, *number) : UniqueFd();
}

UniqueFd Descriptors::give_away(Reader& in, std::uint64_t number) {
  if (!in.good()) return {};
  const bool is_there = number < received_.size() && received_[number];
  if (!in.expect(is_there, "a descriptor is missing, or named twice")) return {};
  return std::move(received_[number]);
}

}  // namespace paravane::state
