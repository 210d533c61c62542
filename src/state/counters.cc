#include "state/counters.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace paravane::state {
namespace {

constexpr Tag kCounter{1};  // a list
constexpr Tag kCounterName{1};
constexpr Tag kCounterValue{2};

constexpr std::size_t kMostCounters = 256;
constexpr std::size_t kLongestCounterName = 64;
// Counters are added up, and must not come round.
constexpr std::uint64_t kMostCounted = std::uint64_t{1} << 62;

}  // namespace

void save(const CounterSet& counters, Writer& out) {
  for (const Counter* counter : counters.all()) {
    const Writer::Group group(out, kCounter);
    out.bytes(kCounterName, std::as_bytes(std::span(counter->name())));
    out.number(kCounterValue, counter->value());
  }
}

void load(CounterSet& counters, Reader& in) {
  std::size_t count = 0;
  while (auto group = in.group_if(kCounter)) {
    const auto bytes = group->bytes(kCounterName, kLongestCounterName);
    const std::uint64_t value = group->number(kCounterValue, kMostCounted);
    group->end();
    if (!in.expect(++count <= kMostCounters, "too many counters") || !in.good()) return;
    counters.go_on({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, value);
  }
  in.end();
}

}  // namespace paravane::state
