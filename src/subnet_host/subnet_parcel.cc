#include "subnet_host/subnet_parcel.h"

#include <fmt/core.h>

#include <utility>

#include "model/machine.h"
#include "state/reader.h"
#include "state/writer.h"

namespace paravane::subnet_host {
namespace {

constexpr state::Tag kParcelVersion{1};
constexpr state::Tag kSubnet{2};
constexpr state::Tag kUplink{3};  // a list, in the order of their names
// Of an uplink.
constexpr state::Tag kUplinkName{1};
constexpr state::Tag kUplinkImage{2};

constexpr std::size_t kLongestUplinkName = 16;

}  // namespace

std::vector<std::byte> write_subnet_parcel(const SubnetParcel& parcel) {
  state::Writer out;
  out.number(kParcelVersion, kSubnetParcelVersion);
  {
    const state::Writer::Group group(out, kSubnet);
    save(parcel.subnet, out);
  }
  for (const auto& [name, image] : parcel.uplinks) {
    const state::Writer::Group group(out, kUplink);
    out.bytes(kUplinkName, std::as_bytes(std::span(name)));
    const state::Writer::Group inner(out, kUplinkImage);
    save(image, out);
  }
  return out.take();
}

Result<SubnetParcel> read_subnet_parcel(std::span<const std::byte> bytes) {
  if (bytes.size() > kMostSubnetParcelBytes)
    return fail(Errc::kInvalidArgument,
                fmt::format("its state has {} bytes, and at most {} are read", bytes.size(),
                            kMostSubnetParcelBytes));
  state::Loading loading;
  state::Reader in(bytes, loading);
  const std::uint64_t version = in.number(kParcelVersion, UINT32_MAX);
  if (in.good() && version != kSubnetParcelVersion)
    return fail(Errc::kUnsupported,
                fmt::format("its state is of version {}, and this release reads version {}",
                            version, kSubnetParcelVersion));
  SubnetParcel parcel;
  state::Reader subnet = in.group(kSubnet);
  parcel.subnet = subnet::load_subnet_image(subnet);
  while (auto group = in.group_if(kUplink)) {
    const auto raw = group->bytes(kUplinkName, kLongestUplinkName);
    std::string name(reinterpret_cast<const char*>(raw.data()), raw.size());
    state::Reader inner = group->group(kUplinkImage);
    ipoib::UplinkImage image = ipoib::load_uplink_image(inner);
    group->end();
    if (!in.expect(parcel.uplinks.size() < model::kMaxIpoibUplinks, "too many uplinks")) break;
    if (!in.expect(parcel.uplinks.emplace(std::move(name), std::move(image)).second,
                   "an uplink twice"))
      break;
  }
  in.end();
  if (!in.good()) return std::unexpected(in.status().error());
  return parcel;
}

}  // namespace paravane::subnet_host
