#include "umad_library/unanswered.h"

#include <algorithm>

namespace paravane::umad_library {
namespace {

constexpr std::size_t kClassAt = 1;
constexpr std::size_t kMethodAt = 3;
constexpr std::size_t kTransactionAt = 12;  // its lower half
constexpr std::size_t kModifierAt = 20;
constexpr auto kLongest = std::chrono::hours(24);

// As the kernel has it (ib_response_mad).
bool is_response(std::span<const std::byte> mad) {
  constexpr std::byte kResponse{0x80};
  constexpr std::byte kTrapRepress{0x07};
  constexpr std::byte kBaseboard{0x05};
  constexpr std::byte kBaseboardResponse{0x01};
  return (mad[kMethodAt] & kResponse) != std::byte{} || mad[kMethodAt] == kTrapRepress ||
         (mad[kClassAt] == kBaseboard &&
          (mad[kModifierAt + 3] & kBaseboardResponse) != std::byte{});
}

Duration time_of(const umad::MadPart& head) {
  const std::chrono::milliseconds once(head.timeout_ms.get());
  const std::int64_t times = std::int64_t{std::min(head.retries.get(), 10'000U)} + 1;
  return std::min<Duration>(std::min<std::chrono::milliseconds>(once, kLongest) * times, kLongest);
}

}  // namespace

Unanswered::Key Unanswered::key_of(std::uint32_t agent, std::span<const std::byte> mad) {
  Key key{agent, {}};
  std::ranges::copy(mad.subspan(kTransactionAt, key.second.size()), key.second.begin());
  return key;
}

void Unanswered::add(const umad::MadPart& head, std::span<const std::byte> mad, Instant now) {
  if (waiting_.size() >= dropped_at_) drop_the_old(now);
  Entry entry{.report = {.head = head}, .due = now + time_of(head)};
  std::ranges::copy(mad.first(kBytes), entry.report.mad.begin());
  waiting_.insert_or_assign(key_of(head.agent.get(), mad), entry);
}

void Unanswered::drop_the_old(Instant now) {
  std::erase_if(waiting_,
                [&](const auto& entry) { return entry.second.due + kKeptAfterwards < now; });
  dropped_at_ = std::max(kFewest, 2 * waiting_.size());
}

void Unanswered::take_back(std::uint32_t agent, std::span<const std::byte> mad) {
  waiting_.erase(key_of(agent, mad));
}

void Unanswered::see(const umad::MadPart& head, std::span<const std::byte> mad) {
  if (head.status.get() == 0 && !is_response(mad)) return;
  const Key key = key_of(head.agent.get(), mad);
  waiting_.erase(key);
  std::erase_if(lost_, [&](const auto& entry) {
    return key_of(entry.second.head.agent.get(), entry.second.mad) == key;
  });
}

void Unanswered::forget_agent(std::uint32_t agent) {
  std::erase_if(waiting_, [&](const auto& entry) { return entry.first.first == agent; });
  std::erase_if(lost_, [&](const auto& entry) { return entry.second.head.agent.get() == agent; });
}

void Unanswered::lose_all() {
  while (!waiting_.empty()) {
    const Entry& entry = waiting_.begin()->second;
    lost_.emplace(entry.due, entry.report);
    waiting_.erase(waiting_.begin());
  }
}

void Unanswered::lose(std::uint32_t agent, std::span<const std::byte> mad) {
  const auto found = waiting_.find(key_of(agent, mad));
  if (found == waiting_.end()) return;
  lost_.emplace(found->second.due, found->second.report);
  waiting_.erase(found);
}

Instant Unanswered::next_due() const {
  return lost_.empty() ? kNever : lost_.begin()->first;
}

const Unanswered::Report* Unanswered::due(Instant now) const {
  return next_due() <= now ? &lost_.begin()->second : nullptr;
}

void Unanswered::reported() {
  lost_.erase(lost_.begin());
}

}  // namespace paravane::umad_library
