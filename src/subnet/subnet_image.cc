#include "subnet/subnet_image.h"

#include <array>
#include <span>
#include <tuple>
#include <utility>

#include "base/wire_int.h"

namespace paravane::subnet {
namespace {

using state::Reader;
using state::Writer;

// Of the whole.
constexpr state::Tag kSwitchImage{1};
constexpr state::Tag kAdapterImage{2};  // a list
constexpr state::Tag kCableImage{3};    // a list

// Of the switch.
constexpr state::Tag kSwitchGuid{1};
constexpr state::Tag kSavedSwitchInfo{2};  // as it is on the wire
constexpr state::Tag kSavedLinear{3};
constexpr state::Tag kSavedMulticast{4};  // a list of SavedMask
constexpr state::Tag kSwitchNotices{5};
constexpr state::Tag kSwitchPort{6};  // a list, from port 0 on

// Of an adapter.
constexpr state::Tag kAdapterName{1};
constexpr state::Tag kAdapterGuid{2};
constexpr state::Tag kAdapterDevice{3};
constexpr state::Tag kAdapterPort{4};  // a list, from port 1 on

// Of a cable.
constexpr state::Tag kCablePort{1};
constexpr state::Tag kCableHost{2};

// Of its port.
constexpr state::Tag kLinkedTo{1};
constexpr state::Tag kPortItself{2};
constexpr state::Tag kPortNotices{3};

using SavedMask = std::array<Le64, std::tuple_size_v<PortMask>>;

void save_notices(state::Tag tag, const NoticesImage& image, Writer& out) {
  const Writer::Group group(out, tag);
  save(image, out);
}

NoticesImage load_notices(state::Tag tag, Reader& in) {
  Reader group = in.group(tag);
  return load_notices_image(group);
}

void save_port(state::Tag tag, const PortImage& image, Writer& out) {
  const Writer::Group group(out, tag);
  save(image, out);
}

void save_switch(const SwitchImage& image, Writer& out) {
  out.number(kSwitchGuid, image.guid);
  out.bytes(kSavedSwitchInfo, std::as_bytes(std::span(&image.tables.info, 1)));
  out.bytes(kSavedLinear, std::as_bytes(std::span(image.tables.linear)));
  std::vector<SavedMask> masks;
  masks.reserve(image.tables.multicast.size());
  for (const PortMask& mask : image.tables.multicast) {
    SavedMask& saved = masks.emplace_back();
    for (std::size_t i = 0; i < mask.size(); ++i) saved[i].set(mask[i]);
  }
  out.list(kSavedMulticast, masks);
  save_notices(kSwitchNotices, image.notices, out);
  for (const PortImage& port : image.ports) save_port(kSwitchPort, port, out);
}

SwitchImage load_switch(Reader& in) {
  SwitchImage image;
  image.guid = in.number(kSwitchGuid);
  in.bytes_into(kSavedSwitchInfo, std::as_writable_bytes(std::span(&image.tables.info, 1)));
  image.tables.linear = in.list<std::uint8_t>(kSavedLinear, Forwarding::kLinearEntries);
  for (const SavedMask& saved :
       in.list<SavedMask>(kSavedMulticast, Forwarding::kMulticastEntries)) {
    PortMask& mask = image.tables.multicast.emplace_back();
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = saved[i].get();
  }
  image.notices = load_notices(kSwitchNotices, in);
  while (auto port = in.group_if(kSwitchPort)) {
    if (!in.expect(image.ports.size() < kMostSwitchPorts, "too many ports")) return {};
    image.ports.push_back(load_port_image(*port));
  }
  in.end();
  return image;
}

void save_adapter(const AdapterImage& image, Writer& out) {
  out.bytes(kAdapterName, std::as_bytes(std::span(image.name)));
  out.number(kAdapterGuid, image.guid);
  out.number(kAdapterDevice, image.device_id);
  for (const AdapterImage::Port& port : image.ports) {
    const Writer::Group group(out, kAdapterPort);
    out.number(kLinkedTo, port.switch_port);
    save_port(kPortItself, port.port, out);
    save_notices(kPortNotices, port.notices, out);
  }
}

std::string load_text(Reader& in, state::Tag tag, std::size_t longest) {
  const auto text = in.bytes(tag, longest);
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

SubnetImage::Cable load_cable(Reader& in) {
  SubnetImage::Cable cable;
  cable.port = static_cast<PortNumber>(in.number(kCablePort, kMostSwitchPorts - 1));
  cable.host = load_text(in, kCableHost, SubnetImage::kLongestHost);
  in.end();
  return cable;
}

AdapterImage load_adapter(Reader& in) {
  AdapterImage image;
  image.name = load_text(in, kAdapterName, SubnetImage::kLongestName);
  image.guid = in.number(kAdapterGuid);
  image.device_id = static_cast<std::uint16_t>(in.number(kAdapterDevice, UINT16_MAX));
  while (auto group = in.group_if(kAdapterPort)) {
    if (!in.expect(image.ports.size() < SubnetImage::kMostAdapterPorts, "too many ports"))
      return {};
    AdapterImage::Port& port = image.ports.emplace_back();
    port.switch_port = static_cast<PortNumber>(group->number(kLinkedTo, kMostSwitchPorts - 1));
    Reader itself = group->group(kPortItself);
    port.port = load_port_image(itself);
    port.notices = load_notices(kPortNotices, *group);
    group->end();
  }
  in.end();
  return image;
}

}  // namespace

void save(const SubnetImage& image, Writer& out) {
  {
    const Writer::Group group(out, kSwitchImage);
    save_switch(image.the_switch, out);
  }
  for (const AdapterImage& adapter : image.adapters) {
    const Writer::Group group(out, kAdapterImage);
    save_adapter(adapter, out);
  }
  for (const SubnetImage::Cable& cable : image.cables) {
    const Writer::Group group(out, kCableImage);
    out.number(kCablePort, cable.port);
    out.bytes(kCableHost, std::as_bytes(std::span(cable.host)));
  }
}

SubnetImage load_subnet_image(Reader& in) {
  SubnetImage image;
  Reader the_switch = in.group(kSwitchImage);
  image.the_switch = load_switch(the_switch);
  while (auto adapter = in.group_if(kAdapterImage)) {
    if (!in.expect(image.adapters.size() < SubnetImage::kMostAdapters, "too many adapters"))
      return {};
    image.adapters.push_back(load_adapter(*adapter));
  }
  while (auto cable = in.group_if(kCableImage)) {
    if (!in.expect(image.cables.size() < SubnetImage::kMostCables, "too many cables")) return {};
    image.cables.push_back(load_cable(*cable));
  }
  in.end();
  return in.good() ? std::move(image) : SubnetImage{};
}

}  // namespace paravane::subnet
