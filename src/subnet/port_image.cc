#include "subnet/port_image.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "base/wire_int.h"

namespace paravane::subnet {
namespace {

constexpr state::Tag kImageInfo{1};        // PortInfo, as it is on the wire
constexpr state::Tag kImagePartitions{2};  // a list of keys
constexpr state::Tag kImageTotals{3};  // a list, in the order of kPortTotals; what is missing is 0
constexpr state::Tag kImageLease{4};   // milliseconds that are left; without it none runs

// They are counted on, and must not come round.
constexpr std::uint64_t kMostTotal = std::uint64_t{1} << 62;
constexpr std::uint64_t kMostLeaseMs = std::uint64_t{UINT16_MAX} * 1000;

}  // namespace

void save(const PortImage& image, state::Writer& out) {
  out.bytes(kImageInfo, std::as_bytes(std::span(&image.info, 1)));
  std::vector<Le16> keys;
  keys.reserve(image.partitions.size());
  for (const std::uint16_t key : image.partitions) keys.emplace_back(key);
  out.list(kImagePartitions, keys);
  std::vector<Le64> totals;
  totals.reserve(kPortTotals.size());
  for (const auto total : kPortTotals) totals.emplace_back(image.totals.*total);
  out.list(kImageTotals, totals);
  if (!image.lease_left) return;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*image.lease_left);
  out.number(kImageLease, static_cast<std::uint64_t>(std::max<std::int64_t>(0, left.count())));
}

PortImage load_port_image(state::Reader& in) {
  PortImage image;
  in.bytes_into(kImageInfo, std::as_writable_bytes(std::span(&image.info, 1)));
  for (const Le16 key : in.list<Le16>(kImagePartitions, PortImage::kMostPartitions))
    image.partitions.push_back(key.get());
  const auto totals = in.list<Le64>(kImageTotals, kPortTotals.size());
  for (std::size_t i = 0; i < totals.size(); ++i) {
    if (!in.expect(totals[i].get() <= kMostTotal, "a counter that would come round")) return {};
    image.totals.*kPortTotals[i] = totals[i].get();
  }
  if (const auto left = in.number_if(kImageLease, kMostLeaseMs))
    image.lease_left = std::chrono::milliseconds(*left);
  in.end();
  return in.good() ? image : PortImage{};
}

}  // namespace paravane::subnet
