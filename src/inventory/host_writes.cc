#include "inventory/host_writes.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "inventory/keys.h"
#include "inventory/view.h"

namespace paravane::inventory {
namespace {

// All that was written until then is drained.
constexpr std::chrono::hours kForgotten{24};

}  // namespace

void HostWrites::note(std::string_view key, std::uint64_t bytes, Instant now) {
  since_compaction_ += bytes;
  since_look_ += bytes;
  const auto name = host_of_key(std::string(key));
  if (!name) return;
  if (!hosts_.contains(*name) && hosts_.size() >= View::kMaxHosts) {
    // Hosts of long ago, for those that have come since.
    std::erase_if(hosts_, [now](const auto& host) { return now - host.second.at > kForgotten; });
    if (hosts_.size() >= View::kMaxHosts) return;
  }
  Bucket& host = hosts_[*name];
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - host.at).count();
  if (seconds > 0) {
    const auto drained = static_cast<std::uint64_t>(seconds) * kPerSecond;
    host.used -= std::min(host.used, drained);
    host.at = now;
  }
  host.used += bytes;
  if (host.used <= kBurst) {
    host.told = false;
  } else if (!std::exchange(host.told, true)) {
    excessive_.push_back(*name);
  }
}

std::vector<std::string> HostWrites::take_excessive() {
  return std::exchange(excessive_, {});
}

bool HostWrites::take_look() {
  if (since_look_ < kUntilLook) return false;
  since_look_ = 0;
  return true;
}

bool HostWrites::take_compaction() {
  if (since_compaction_ < kUntilCompaction) return false;
  since_compaction_ = 0;
  return true;
}

}  // namespace paravane::inventory
