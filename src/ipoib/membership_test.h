// What tests of Membership share: a port of a subnet with a manager and subnet administration,
// which it follows as an uplink does.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ipoib/membership.h"
#include "testing/subnet_administration.h"
#include "testing/subnet_rig.h"

namespace paravane::ipoib {

inline constexpr std::uint16_t kAll = 0xFFFF;
inline constexpr std::uint64_t kMemberPort = fake::SubnetRig::kSecondGuid + 1;

class MembershipTest : public testing::Test,
                       private Membership::Listener,
                       private subnet::PortUser {
 protected:
  MembershipTest() {
    administration_.make_group(kAll);
    rig_.second.add_user(1, *this);
  }
  ~MembershipTest() override { rig_.second.remove_user(1, *this); }

  void follow(std::uint16_t vlan = 0) {
    Membership::Listener& listener = *this;
    membership_ = std::make_unique<Membership>(rig_.second, 1, client_, rig_.clock, vlan, listener);
    membership_->on_port_change();
  }
  // As an uplink does.
  void settle() {
    bool has_served = true;
    while (has_served) {
      if (membership_ && std::exchange(has_changed_, false)) membership_->on_port_change();
      if (membership_ && std::exchange(registers_again_, false)) membership_->on_register_again();
      if (membership_) membership_->on_time(rig_.clock.now);
      ASSERT_TRUE(rig_.settle());
      has_served = administration_.serve() || has_changed_ || registers_again_;
    }
  }
  void advance(Duration duration) {
    for (; duration > Duration::zero(); duration -= std::chrono::milliseconds(250)) {
      rig_.clock.now += std::chrono::milliseconds(250);
      settle();
    }
  }
  void joined(std::uint16_t vlan = 0) {
    follow(vlan);
    settle();
    ASSERT_EQ(membership_->state(), Membership::State::kJoined);
    changes_ = 0;
    administration_.forget_asked();
  }
  Membership::State state() const { return membership_->state(); }
  std::size_t joins() const {
    return administration_.asked_for(wire::infiniband::method::kSet,
                                     wire::infiniband::attribute::kMulticastMemberRecord);
  }
  std::size_t leaves() const {
    return administration_.asked_for(wire::infiniband::method::kDelete,
                                     wire::infiniband::attribute::kMulticastMemberRecord);
  }
  subnet::Port& port() { return *rig_.second.port(1); }
  void write_keys(std::vector<std::uint16_t> keys) {
    const auto* node = rig_.manager.find(kMemberPort);
    ASSERT_NE(node, nullptr);
    ASSERT_TRUE(rig_.manager.write_partitions(*node, std::move(keys)));
  }
  void bring_up() {
    port().link_up(subnet::Speed::kQuad);
    rig_.manager.sweep();
    settle();
  }
  // The times between the next `count` questions, from now on.
  std::vector<Duration> pauses(std::size_t count) {
    std::vector<Duration> all;
    Instant last = rig_.clock.now;
    std::size_t seen = joins();
    for (unsigned step = 0; all.size() < count && step < 1000; ++step) {
      advance(std::chrono::milliseconds(250));
      if (joins() == seen) continue;
      seen = joins();
      all.push_back(rig_.clock.now - last);
      last = rig_.clock.now;
    }
    return all;
  }

  fake::SubnetRig rig_;
  fake::SubnetAdministration administration_{rig_.first.mads(1), rig_.manager, rig_.clock};
  AdministrationClient client_{rig_.second, subnet::PortNumber{1}, rig_.clock};
  std::unique_ptr<Membership> membership_;
  unsigned changes_ = 0;

 private:
  void on_membership(Membership& membership) override {
    ++changes_;
    EXPECT_EQ(&membership, membership_.get());
    EXPECT_EQ(membership.group() != nullptr, membership.state() == Membership::State::kJoined);
  }
  void on_port_change() override { has_changed_ = true; }
  void on_register_again() override { registers_again_ = true; }

  bool has_changed_ = false;
  bool registers_again_ = false;
};

}  // namespace paravane::ipoib
