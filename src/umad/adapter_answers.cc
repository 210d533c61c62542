#include "umad/adapter_answers.h"

#include <algorithm>
#include <cstring>

#include "base/version.h"

namespace paravane::umad {
namespace {

template <std::size_t kSize>
void put_text(std::string_view text, std::array<char, kSize>& out) {
  out = {};
  std::copy_n(text.begin(), std::min(text.size(), kSize - 1), out.begin());
}

}  // namespace

Name name_of(std::string_view text) {
  Name name;
  put_text(text, name);
  return name;
}

std::string text_of(const Name& name) {
  return std::string(name.data(), ::strnlen(name.data(), name.size()));
}

AdapterFacts facts_of(const subnet::HostAdapter& adapter) {
  AdapterFacts facts;
  facts.name = name_of(adapter.name());
  facts.node_type.set(static_cast<std::uint32_t>(adapter.identity().type));
  facts.ports.set(adapter.ports());
  put_text(kVersion, facts.firmware);
  put_text(adapter.model().name, facts.type);
  put_text("0", facts.hardware);
  facts.node_guid.set(adapter.identity().guid);
  facts.system_guid.set(adapter.identity().system_guid);
  return facts;
}

PortFacts facts_of(const subnet::HostAdapter& adapter, subnet::PortNumber number) {
  const subnet::Port& port = *adapter.port(number);
  const wire::infiniband::PortInfo& info = port.info();
  PortFacts facts;
  facts.adapter = name_of(adapter.name());
  facts.port.set(number);
  facts.base_lid.set(port.lid());
  facts.lmc.set(info.protection_lmc & 7);
  facts.master_lid.set(info.master_lid.get());
  facts.master_level.set(info.mtu_master_level & 0x0F);
  facts.state.set(static_cast<std::uint32_t>(port.state()));
  facts.physical_state.set(static_cast<std::uint32_t>(port.physical_state()));
  facts.rate.set(subnet::gbit_of(static_cast<subnet::Speed>(info.speed_active_enabled >> 4)));
  facts.capabilities = info.capabilities;
  facts.gid_prefix = info.gid_prefix;
  facts.port_guid.set(port.guid());
  put_text(adapter.model().is_ethernet(number) ? "Ethernet" : "InfiniBand", facts.link_layer);
  const auto keys = port.partitions().first(std::min(port.partitions().size(), kMostPartitions));
  facts.partitions.set(static_cast<std::uint32_t>(keys.size()));
  for (std::size_t i = 0; i < keys.size(); ++i) facts.keys[i].set(keys[i]);
  return facts;
}

}  // namespace paravane::umad
