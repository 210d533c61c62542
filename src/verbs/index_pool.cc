#include "verbs/index_pool.h"

#include "base/wire_int.h"

namespace paravane::verbs {
namespace {

using state::Tag;

constexpr Tag kFresh{1};
constexpr Tag kFree{2};

}  // namespace

void IndexPool::save(state::Writer& out) const {
  std::vector<Le32> free;
  free_.for_each([&free](std::uint32_t number) { free.emplace_back(number); });
  out.number(kFresh, fresh_);
  out.list(kFree, free);
}

IndexPool::Claims IndexPool::load(state::Reader& in) {
  const auto fresh = static_cast<std::uint32_t>(in.number(kFresh, end_));
  const std::uint32_t taken = fresh > first_ ? fresh - first_ : 0;
  const auto free = in.list<Le32>(kFree, taken);
  in.end();
  Claims claims;
  if (!in.expect(fresh >= first_, "no pool of numbers")) return claims;
  claims.first_ = first_;
  claims.taken_.resize(taken, true);
  claims.left_ = taken;
  fresh_ = fresh;
  free_.make_room(taken);
  for (const Le32 one : free) {
    if (!in.expect(claims.claim(one.get()), "a number is free that cannot be")) return {};
    free_.put(one.get());
  }
  return claims;
}

bool IndexPool::Claims::claim(std::uint32_t index) {
  const std::uint32_t place = index - first_;
  if (index < first_ || place >= taken_.size() || !taken_[place]) return false;
  taken_[place] = false;
  --left_;
  return true;
}

}  // namespace paravane::verbs
