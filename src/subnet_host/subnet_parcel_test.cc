#include "subnet_host/subnet_parcel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/machine.h"
#include "testing/edited_state.h"
#include "testing/uplink_rig.h"

namespace paravane::subnet_host {
namespace {

using testing::HasSubstr;

class SubnetParcelTest : public testing::Test {
 protected:
  SubnetParcelTest() {
    rig_.first.add_vlan(0);
    rig_.run();
    parcel_.subnet = rig_.net.subnet.image();
    parcel_.uplinks.emplace("vmnic32", rig_.first.image());
    parcel_.uplinks.emplace("vmnic33", rig_.second.image());
  }
  static Errc code_of(const Result<SubnetParcel>& read) {
    return read ? Errc{} : read.error().code;
  }
  static std::string words_of(const Result<SubnetParcel>& read) {
    return read ? "" : read.error().message;
  }

  fake::UplinkRig rig_;
  SubnetParcel parcel_;
};

TEST_F(SubnetParcelTest, WhatWasWrittenIsRead) {
  const StateBytes bytes = write_subnet_parcel(parcel_);
  const auto read = read_subnet_parcel(bytes);
  ASSERT_TRUE(read) << words_of(read);
  EXPECT_EQ(write_subnet_parcel(*read), bytes);
  EXPECT_EQ(read->uplinks.size(), 2u);
  EXPECT_EQ(read->uplinks.at("vmnic32").partitions.size(), 1u);
}

TEST_F(SubnetParcelTest, AnotherVersionIsRefusedInWords) {
  const StateBytes bytes = write_subnet_parcel(parcel_);
  const auto newer = read_subnet_parcel(edited(bytes, std::vector<std::uint16_t>{1}, to_number(2)));
  EXPECT_EQ(code_of(newer), Errc::kUnsupported);
  EXPECT_EQ(words_of(newer), "its state is of version 2, and this release reads version 1");
  EXPECT_FALSE(read_subnet_parcel(without(bytes, 1)));
}

TEST_F(SubnetParcelTest, WhatALaterReleaseAddsIsPassedByIfItMayBe) {
  state::Writer out;
  out.number(state::Tag{state::kMayBeSkipped | 9}, 7);
  StateBytes bytes = write_subnet_parcel(parcel_);
  const StateBytes more = out.take();
  bytes.insert(bytes.end(), more.begin(), more.end());
  EXPECT_TRUE(read_subnet_parcel(bytes));
  bytes[bytes.size() - more.size() + 1] = std::byte{0};  // without the bit
  EXPECT_FALSE(read_subnet_parcel(bytes));
}

TEST_F(SubnetParcelTest, AnUplinkTwiceOrTooManyAreRefused) {
  const StateBytes bytes = write_subnet_parcel(parcel_);
  const auto same_name = [](std::span<const std::byte> value) {
    StateBytes name(value.begin(), value.end());
    name.back() = std::byte{'3'};  // of vmnic32
    return name;
  };
  EXPECT_THAT(
      words_of(read_subnet_parcel(edited(bytes, std::vector<std::uint16_t>{3, 1}, same_name))),
      HasSubstr("an uplink twice"));
  for (unsigned i = 0; i <= model::kMaxIpoibUplinks; ++i)
    parcel_.uplinks.emplace("more" + std::to_string(i), ipoib::UplinkImage{});
  EXPECT_THAT(words_of(read_subnet_parcel(write_subnet_parcel(parcel_))),
              HasSubstr("too many uplinks"));
}

TEST_F(SubnetParcelTest, ALongNameIsRefused) {
  parcel_.uplinks.emplace("a name that no uplink has", ipoib::UplinkImage{});
  EXPECT_EQ(code_of(read_subnet_parcel(write_subnet_parcel(parcel_))), Errc::kInvalidArgument);
}

TEST_F(SubnetParcelTest, EachPartIsRefused) {
  const StateBytes bytes = write_subnet_parcel(parcel_);
  // Without its uplinks it is whole.
  parcel_.uplinks.clear();
  const std::size_t end = write_subnet_parcel(parcel_).size();
  for (std::size_t length = 0; length < end; length += length < 100 ? 1 : 61)
    EXPECT_FALSE(read_subnet_parcel(std::span(bytes).first(length))) << length;
  EXPECT_FALSE(read_subnet_parcel(std::span(bytes).first(end + 1)));
}

TEST_F(SubnetParcelTest, TheFullestIsFarBelowTheBound) {
  ipoib::UplinkImage full = parcel_.uplinks.at("vmnic32");
  full.partitions.resize(ipoib::UplinkImage::kMostPartitions, full.partitions.at(0));
  full.addresses.resize(ipoib::OwnAddresses::kMost,
                        {.mac = {2, 0, 0, 0, 0, 1}, .queue_pair = 0x100});
  full.paths.resize(ipoib::Paths::kMost,
                    {.key = {.partition = 0xFFFF, .lid = 1}, .path = {.mtu = 4096}});
  for (unsigned i = 0; i < model::kMaxIpoibUplinks; ++i)
    parcel_.uplinks.insert_or_assign("vmnic" + std::to_string(32 + i), full);
  parcel_.subnet.the_switch.tables.linear.resize(subnet::Forwarding::kLinearEntries);
  parcel_.subnet.the_switch.tables.multicast.resize(subnet::Forwarding::kMulticastEntries);
  const StateBytes bytes = write_subnet_parcel(parcel_);
  EXPECT_LT(bytes.size(), kMostSubnetParcelBytes / 2);
  EXPECT_TRUE(read_subnet_parcel(bytes));
  EXPECT_FALSE(read_subnet_parcel(StateBytes(kMostSubnetParcelBytes + 1)));
}

}  // namespace
}  // namespace paravane::subnet_host
