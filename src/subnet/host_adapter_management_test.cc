// Management of HostAdapter: what its ports answer, and how they tell the manager of something.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "subnet/host_adapter_test.h"
#include "testing/management_datagrams.h"
#include "testing/port_orders.h"

namespace paravane::subnet {
namespace {

using namespace std::chrono_literals;
namespace attribute = wire::infiniband::attribute;
namespace management_class = wire::infiniband::management_class;
namespace method = wire::infiniband::method;
using fake::attribute_in;
using fake::get_of;
using fake::mad_in;
using fake::Smp;
using fake::smp_of;
using fake::smp_packet;
using wire::infiniband::DatagramHeaders;

class RegisteredAgent : public MadAgent {
 public:
  void on_mad(AgentId, const MadAddress& from, std::span<const std::byte> mad) override {
    addresses.push_back(from);
    mads.emplace_back(mad.begin(), mad.end());
  }
  void on_no_answer(AgentId, const MadAddress&, std::span<const std::byte>) override {}
  std::vector<MadAddress> addresses;
  std::vector<std::vector<std::byte>> mads;
};

// ---- Answers ----

TEST_F(HostAdapterTest, AnswersSmpsAlsoWhileItIsNotActive) {
  port_.link_down();
  port_.link_up(Speed::kQuad);
  arrive(smp_packet(fake::departed(get_of(attribute::kNodeInfo), {1})));
  ASSERT_EQ(end_.sent.size(), 1u);
  EXPECT_EQ(mad_in<Smp>(end_.sent[0]).header.status.get(), wire::infiniband::kReturning);
  arrive(smp_packet(get_of(attribute::kNodeInfo), kAdapterLid, kSenderLid));
  ASSERT_EQ(end_.sent.size(), 2u);
  const auto read = wire::infiniband::read_datagram(end_.sent[1]);
  EXPECT_EQ(read->headers.destination, kSenderLid);
  EXPECT_EQ(read->headers.source, kAdapterLid);
}

TEST_F(HostAdapterTest, SmpsForAnotherAreDropped) {
  arrive(smp_packet(get_of(attribute::kNodeInfo), kAdapterLid + 1, kSenderLid));
  DatagramHeaders headers{
      .source = kSenderLid, .destination = kAdapterLid, .lane = 15, .destination_qp = 1};
  arrive(fake::packet_with(headers, fake::mad_bytes(get_of(attribute::kNodeInfo))));
  headers.destination = kGroupLidHere;
  headers.destination_qp = 0;
  arrive(fake::packet_with(headers, fake::mad_bytes(get_of(attribute::kNodeInfo))));
  EXPECT_TRUE(end_.sent.empty());
  EXPECT_EQ(port_.totals().management_dropped, 3u);
}

TEST_F(HostAdapterTest, AProgramAsksItsOwnNodeByLid) {
  RegisteredAgent agent;
  MadPort& mads = adapter_.mads(1);
  const auto id = mads.register_agent(
      {.management_class = management_class::kSubnetByLid, .class_version = 1}, agent);
  ASSERT_TRUE(id.has_value());
  const Smp get = get_of(attribute::kNodeInfo);
  ASSERT_TRUE(
      mads.send(*id, {.lid = kAdapterLid}, fake::mad_bytes(get), 1s, 0, clock_.now).has_value());
  for (int i = 0; i < 4; ++i) deliver_loops();
  EXPECT_TRUE(end_.sent.empty());
  ASSERT_EQ(agent.mads.size(), 1u);
  mads.unregister(*id);
}

TEST_F(HostAdapterTest, ItsPortsAnswerApart) {
  fake::RecordingLinkEnd second;
  adapter_.attach(2, second);
  ASSERT_TRUE(fake::set_port_active(*adapter_.port(2)));
  adapter_.on_packet(2, smp_packet(fake::departed(get_of(attribute::kNodeInfo), {1})));
  EXPECT_TRUE(end_.sent.empty());
  ASSERT_EQ(second.sent.size(), 1u);
  EXPECT_EQ(attribute_in<wire::infiniband::NodeInfo>(mad_in<Smp>(second.sent[0])).port_guid.get(),
            kAdapterGuid + 2);
}

// ---- Notices ----

TEST_F(HostAdapterTest, AManagerThatComesOrGoesIsTold) {
  adapter_.mads(1).set_manager(true);
  std::vector<Smp> told = traps();
  ASSERT_EQ(told.size(), 1u);
  const auto notice = attribute_in<wire::infiniband::Notice>(told[0]);
  EXPECT_EQ(notice.trap.get(), 144);
  EXPECT_EQ(notice.generic_type, 0x84);
  wire::infiniband::CapabilityChange details;
  std::memcpy(&details, notice.details.data(), sizeof details);
  EXPECT_EQ(details.lid.get(), kAdapterLid);
  EXPECT_EQ(details.capabilities.get(), port_.capabilities());
  EXPECT_NE(details.capabilities.get() & wire::infiniband::capability::kIsManager, 0u);
  arrive(repress_of(told[0]));
  clock_.now += 1min;
  EXPECT_TRUE(traps().empty());
}

TEST_F(HostAdapterTest, ANoticeIsRepressedWithTheKeyAlone) {
  constexpr std::uint64_t kPortKey = 0x77;
  ASSERT_TRUE(fake::set_port_identity(port_, kAdapterLid, kMasterLid, kPortKey));
  adapter_.mads(1).set_manager(true);
  const std::vector<Smp> told = traps();
  ASSERT_EQ(told.size(), 1u);
  arrive(repress_of(told[0]));
  arrive(repress_of(told[0], kPortKey + 1));
  EXPECT_EQ(port_.info().key_violations.get(), 2);
  EXPECT_EQ(numbers_of(traps()), std::vector<std::uint16_t>{256});
  clock_.now += 1min;
  EXPECT_EQ(numbers_of(traps()), (std::vector<std::uint16_t>{144, 256}));
  arrive(repress_of(told[0], kPortKey));
  clock_.now += 1min;
  EXPECT_EQ(numbers_of(traps()), std::vector<std::uint16_t>{256});
}

TEST_F(HostAdapterTest, WithoutALidOrAManagerNoticesWait) {
  ASSERT_TRUE(fake::set_port_identity(port_, kAdapterLid, 0));
  adapter_.mads(1).set_manager(true);
  EXPECT_TRUE(traps().empty());
  EXPECT_EQ(adapter_.next_deadline(), kNever);
  clock_.now += 1min;
  ASSERT_TRUE(fake::set_port_identity(port_, kAdapterLid + 1, kMasterLid));
  EXPECT_EQ(adapter_.next_deadline(), clock_.now);
  const std::vector<Smp> told = traps();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(attribute_in<wire::infiniband::Notice>(told[0]).issuer.get(), kAdapterLid + 1);
}

TEST_F(HostAdapterTest, AProgramsTrapIsRepressedForTheProgram) {
  RegisteredAgent agent;
  MadPort& mads = adapter_.mads(1);
  const auto id = mads.register_agent(
      {.management_class = management_class::kSubnetByLid, .class_version = 1}, agent);
  ASSERT_TRUE(id.has_value());
  const Smp trap = smp_of(method::kTrap, attribute::kNotice);
  ASSERT_TRUE(
      mads.send(*id, {.lid = kMasterLid}, fake::mad_bytes(trap), 1s, 0, clock_.now).has_value());
  ASSERT_EQ(end_.sent.size(), 1u);
  arrive(repress_of(mad_in<Smp>(end_.sent[0])));
  EXPECT_EQ(agent.mads.size(), 1u);
  mads.unregister(*id);
}

}  // namespace
}  // namespace paravane::subnet
