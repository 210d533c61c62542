#include "host_verbs/service_adapter.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "guestmem/payload.h"
#include "host_verbs/completion_inbox.h"
#include "host_verbs/request_queue.h"
#include "testing/service_rig.h"
#include "testing/verbs_requests.h"

namespace paravane::host_verbs {
namespace {

using fake::EngineBuffer;
using fake::ServiceRig;
using verbs::WcStatus;

// A queue pair of the service that a VM's is connected to.
class ServiceAdapterTest : public testing::Test {
 protected:
  ServiceAdapterTest() {
    auto qp = rig_.service().adapter().create_qp({.type = verbs::QpType::kReliableConnected,
                                                  .pd = rig_.service().pd(),
                                                  .tag = 5,
                                                  .send_cq = &inbox_,
                                                  .receive_cq = &inbox_,
                                                  .work = &work_});
    qp_ = ServiceRig::take(std::move(qp));
    verbs::QpAttributes attributes = fake::default_attributes();
    attributes.dest_qpn = peer_->qp->number();
    attributes.av.dgid = rig_.a().gid();
    EXPECT_TRUE(fake::bring_up(*qp_, verbs::QpState::kReadyToSend, attributes));
    ServiceRig::bring_up_to(*peer_, verbs::QpState::kReadyToSend, rig_.service().gid(),
                            qp_->number());
  }
  ~ServiceAdapterTest() override { qp_.reset(); }

  WcStatus do_and_tell(const verbs::SendRequest& request) {
    peer_->sends.clear();
    peer_->post(request);
    EXPECT_TRUE(rig_.run());
    return peer_->sends.statuses().empty() ? WcStatus::kGeneral : peer_->sends.statuses().front();
  }
  WcStatus write(std::uint64_t address, std::uint32_t key) {
    return do_and_tell(fake::write_request(1, {buffer_.whole()}, address, key));
  }
  std::uint64_t payload(std::uint32_t place) { return rig_.memory().payload(place).value; }
  std::uint32_t lend(std::uint32_t place, std::uint32_t length, verbs::AccessMask rights) {
    return ServiceRig::take(rig_.service().lend(place, length, rights));
  }

  ServiceRig rig_;
  RequestQueue work_;
  CompletionInbox inbox_;
  std::unique_ptr<fake::EngineQp> peer_ = rig_.a().queue_pair();
  EngineBuffer buffer_ = rig_.a().buffer(4096);
  std::unique_ptr<verbs::QueuePair> qp_;
};

TEST_F(ServiceAdapterTest, APeerWritesWhatItIsLent) {
  rig_.a().fill(buffer_, 3);
  const std::uint32_t key = lend(1, 8192, verbs::kAccessRemoteWrite);
  EXPECT_EQ(write(payload(1) + 4096, key), WcStatus::kSuccess);
  ExtentList extents;
  ASSERT_TRUE(rig_.memory().extents(1, 4096, 4096, extents));
  std::vector<std::byte> bytes(4096);
  ASSERT_TRUE(gather_payload(extents, bytes));
  EXPECT_EQ(bytes, fake::EngineVm::pattern(4096, 3));
}

TEST_F(ServiceAdapterTest, APeerReadsWhatItIsLent) {
  const auto wanted = fake::EngineVm::pattern(4096, 9);
  ExtentList extents;
  ASSERT_TRUE(rig_.memory().extents(2, 0, 4096, extents));
  ASSERT_TRUE(scatter_payload(wanted, extents));
  const std::uint32_t key = lend(2, 4096, verbs::kAccessRemoteRead);
  EXPECT_EQ(do_and_tell(fake::read_request(1, {buffer_.whole()}, payload(2), key)),
            WcStatus::kSuccess);
  EXPECT_EQ(rig_.a().read(buffer_, 0, 4096), wanted);
}

TEST_F(ServiceAdapterTest, ALoanThatHasEndedIsGoodForNothing) {
  const std::uint32_t key = lend(1, 4096, verbs::kAccessRemoteWrite);
  rig_.service().end_loan(key);
  EXPECT_EQ(write(payload(1), key), WcStatus::kRemoteAccessError);
}

TEST_F(ServiceAdapterTest, ALoanHasNoOtherRight) {
  const std::uint32_t key = lend(1, 4096, verbs::kAccessRemoteRead);
  EXPECT_EQ(write(payload(1), key), WcStatus::kRemoteAccessError);
}

TEST_F(ServiceAdapterTest, ALoanHasNoMoreBytes) {
  const std::uint32_t key = lend(1, 4096, verbs::kAccessRemoteWrite);
  EXPECT_EQ(write(payload(1) + 1, key), WcStatus::kRemoteAccessError);
}

TEST_F(ServiceAdapterTest, TheKeyOfAllMemoryIsNoPeers) {
  EXPECT_EQ(write(payload(1), rig_.service().local_key()), WcStatus::kRemoteAccessError);
}

TEST_F(ServiceAdapterTest, AKeyDoesNotComeBackSoon) {
  std::set<std::uint32_t> keys;
  for (int i = 0; i < 4000; ++i) {
    const std::uint32_t key = lend(0, 4096, verbs::kAccessRemoteWrite);
    EXPECT_TRUE(keys.insert(key).second);
    rig_.service().end_loan(key);
  }
}

TEST_F(ServiceAdapterTest, EventsReachTheTag) {
  std::vector<verbs::QpEvent> events;
  rig_.service().on_events(5, [&](verbs::QpEvent event) { events.push_back(event); });
  EXPECT_EQ(write(payload(1), 0x1234), WcStatus::kRemoteAccessError);
  EXPECT_FALSE(events.empty());
  rig_.service().on_events(5, {});
}

}  // namespace
}  // namespace paravane::host_verbs
