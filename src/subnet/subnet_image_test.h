// What tests of SubnetImage share: a subnet at work with a manager and a group, and the subnet of
// the engine that follows.

#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "subnet/subnet.h"
#include "subnet/subnet_image.h"
#include "testing/edited_state.h"
#include "testing/subnet_rig.h"

namespace paravane::subnet {

inline constexpr std::uint64_t kManagementKey = 0x1234'5678'9ABC'DEF0;
inline constexpr std::uint16_t kImageGroupLid = 0xC003;

inline StateBytes bytes_of(const SubnetImage& image) {
  state::Writer out;
  save(image, out);
  return out.take();
}
// Without IsSM, which is not taken over.
inline StateBytes bytes_without_managers(SubnetImage image) {
  for (AdapterImage& adapter : image.adapters) {
    for (AdapterImage::Port& port : adapter.ports) {
      Be32& capabilities = port.port.info.capabilities;
      capabilities.set(capabilities.get() & ~wire::infiniband::capability::kIsManager);
    }
  }
  return bytes_of(image);
}

// Empty, if it is refused: why.
inline std::string image_refusal(std::span<const std::byte> bytes, SubnetImage* loaded = nullptr) {
  state::Loading loading;
  state::Reader in(bytes, loading);
  SubnetImage image = load_subnet_image(in);
  if (loaded != nullptr) *loaded = std::move(image);
  return loading.good() ? "" : loading.status().error().message;
}

// As it comes out at the other end of the line.
inline SubnetImage sent(const SubnetImage& image) {
  SubnetImage loaded;
  EXPECT_EQ(image_refusal(bytes_of(image), &loaded), "");
  return loaded;
}

// Two values of four bits in a byte, one of which is new.
inline std::uint8_t both(wire::infiniband::PortState low, std::uint8_t byte) {
  return static_cast<std::uint8_t>((byte & 0xF0) | static_cast<std::uint8_t>(low));
}
inline std::uint8_t both(wire::infiniband::PhysicalState high, std::uint8_t byte) {
  return static_cast<std::uint8_t>((static_cast<std::uint8_t>(high) << 4) | (byte & 0x0F));
}

// The engine that follows, without the manager.
struct Heir {
  explicit Heir(const TurnClock& clock, std::uint64_t guid = fake::SubnetRig::kSwitchGuid)
      : subnet("host", guid, clock) {}

  std::vector<std::string> adopt(const SubnetImage& image,
                                 const std::vector<Subnet::AdapterWish>& wishes) {
    auto anew = subnet.adopt(sent(image), wishes);
    settle();
    return anew;
  }
  void settle() {
    for (int i = 0; i < 100 && subnet.turn(); ++i) {
    }
  }
  wire::infiniband::PortState state(const char* adapter) {
    return subnet.find(adapter)->port(1)->state();
  }
  wire::infiniband::PortState switch_state(PortNumber port) {
    return subnet.the_switch().port(port)->state();
  }

  Subnet subnet;
};

class SubnetImageTest : public testing::Test {
 protected:
  SubnetImageTest() {
    rig_.manager.use_key(kManagementKey, 1);
    rig_.manager.sweep();
    rig_.manager.make_group(kImageGroupLid, std::array{fake::SubnetRig::kFirstGuid + 1,
                                                       fake::SubnetRig::kSecondGuid + 1});
    rig_.advance(std::chrono::seconds(60));
  }
  static Subnet::AdapterWish wish(std::string name, std::uint64_t guid) {
    return {.name = std::move(name), .model = {.name = "Test"}, .guid = guid};
  }
  static std::vector<Subnet::AdapterWish> wishes() {
    return {wish("first", fake::SubnetRig::kFirstGuid),
            wish("second", fake::SubnetRig::kSecondGuid)};
  }
  static bool has_port_changed(const Subnet& subnet) {
    return (subnet.the_switch().tables().info().life_change &
            wire::infiniband::kPortStateChanged) != 0;
  }

  fake::SubnetRig rig_;
  Heir heir_{rig_.clock};
};

}  // namespace paravane::subnet
