// SubnetImage: a host's part of a subnet as an engine left it to the one that replaces it: the
// tables of its switch, and what the manager has written into the ports of the switch and of each
// adapter, so that the manager finds nothing changed.
//
// Plain values, which come from an engine that a guest may have taken over. Loading checks their
// form and bounds; Subnet::adopt() judges whether a subnet of this program can be so.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "state/reader.h"
#include "state/writer.h"
#include "subnet/forwarding.h"
#include "subnet/notices_image.h"
#include "subnet/port_image.h"
#include "wire/infiniband/subnet_management.h"

namespace paravane::subnet {

struct SwitchImage {
  std::uint64_t guid = 0;
  ForwardingImage tables{};
  NoticesImage notices{};
  std::vector<PortImage> ports{};  // from port 0 on
};

struct AdapterImage {
  struct Port {
    PortNumber switch_port = 0;  // to which it is linked; 0: it is Ethernet
    PortImage port{};
    NoticesImage notices{};
  };
  std::string name{};
  std::uint64_t guid = 0;
  std::uint16_t device_id = 0;
  std::vector<Port> ports{};  // from port 1 on
};

struct SubnetImage {
  static constexpr std::size_t kMostAdapters = 16;
  static constexpr std::size_t kLongestName = 64;
  static constexpr std::size_t kMostAdapterPorts = 2;
  static constexpr std::size_t kMostCables = 32;
  static constexpr std::size_t kLongestHost = 253;

  // A cable to another host whose link was up.
  struct Cable {
    PortNumber port = 0;  // of the switch
    std::string host{};
  };

  SwitchImage the_switch{};
  std::vector<AdapterImage> adapters{};
  std::vector<Cable> cables{};
};

void save(const SubnetImage& image, state::Writer& out);
// All that the reader has. Defaults if it is refused.
SubnetImage load_subnet_image(state::Reader& in);

}  // namespace paravane::subnet
