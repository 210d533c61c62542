#include "privsep/estate_line.h"

#include <fmt/core.h>

#include <chrono>

namespace paravane::privsep {

Status EstateLine::send(std::string_view name, std::span<const std::byte> bytes,
                        std::span<const int> descriptors, Instant deadline) {
  if (sent_ >= kMaxParcels) {
    return fail(Errc::kResourceExhausted, fmt::format("{} is too large to hand over", name));
  }
  Status sent = line_.send(name, bytes, descriptors, deadline);
  if (sent) ++sent_;
  return sent;
}

Status EstateLine::end(Instant deadline) {
  return line_.end(sent_, deadline);
}

Result<std::vector<Parcel>> EstateLine::receive(Instant deadline) {
  std::vector<Parcel> parcels;
  for (;;) {
    auto news = line_.receive();
    if (!news) return std::unexpected(news.error());
    if (!*news) {
      if (Status ready = line_.wait_for_news(deadline); !ready) {
        return std::unexpected(ready.error());
      }
      continue;
    }
    if (const auto end = (*news)->end) {
      if (*end == parcels.size()) return parcels;
      return fail(Errc::kInvalidArgument, "the estate is refused: its end");
    }
    if (parcels.size() >= kMaxParcels) {
      return fail(Errc::kInvalidArgument, "the estate is refused: the number of parcels");
    }
    if (parcels.empty()) first_at_ = std::chrono::steady_clock::now();
    parcels.push_back(std::move(*(*news)->parcel));
  }
}

}  // namespace paravane::privsep
