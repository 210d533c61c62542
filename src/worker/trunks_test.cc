#include "worker/trunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "testing/engine_rig.h"
#include "testing/fake_trunk.h"
#include "testing/scripted_transport.h"
#include "transport/hca/trunk_stream.h"
#include "transport/tcp/socket_stream.h"

namespace paravane::worker {
namespace {

using testing::ElementsAre;
using verbs::HostId;

constexpr verbs::Gid kFarGid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}};
constexpr auto kV2 = verbs::GidType::kRoceV2;

wire::TrunkOffer offer(std::uint64_t number) {
  wire::TrunkOffer made{};
  made.number.set(number);
  return made;
}

// One of two hosts, both of one worker, with an adapter of the other's at kFarGid.
class TrunkHost final : public TrunkListener, private transport_channel::LocalOwners {
 public:
  TrunkHost(Worker& worker, unsigned index, bool arranges)
      : index_(index),
        directory_(local_),
        port_(directory_.join(verbs::AdapterId{1}, "db1", {2, 0, 0, 0, 0, 1})),
        tcp_({.incarnation = 5, .arranges_trunks = arranges}, worker.loop(), *this,
             {.on_lost =
                  [this](const transport_channel::LostChannel& lost) {
                    trunks_->on_channel_lost(lost.host, now());
                  },
              .on_open = [this](HostId host) { trunks_->on_channel(host); },
              .on_trunk_offer =
                  [this](HostId host, const wire::TrunkOffer& offer) {
                    trunks_->on_offer(host, offer);
                  },
              .on_trunk_ready =
                  [this](HostId host, const wire::TrunkReady& ready) {
                    trunks_->on_ready(host, ready);
                  }}),
        tenant_(tcp_, worker.schedule().turn_clock(), Duration{}),
        worker_(worker) {
    const transport_channel::LocalOwners& owners = *this;
    trunks_.emplace(worker, 5, owners, directory_, tcp_, [this](const TrunkNews& one) {
      news.push_back(one.device + (one.reason.empty() ? " is open" : ": " + one.reason));
    });
    trunks_->set_listener(this, {}, now());
    worker.schedule().add(tenant_);
    worker.schedule().add(trunks_->tenant());
    directory_.set_host(peer(), "other", tcp_, {{.segment = {}, .gid = kFarGid, .type = kV2}});
  }
  ~TrunkHost() override {
    worker_.schedule().remove(trunks_->tenant());
    worker_.schedule().remove(tenant_);
  }
  TrunkHost(const TrunkHost&) = delete;
  TrunkHost& operator=(const TrunkHost&) = delete;

  static Instant now() { return std::chrono::steady_clock::now(); }
  HostId peer() const { return HostId{2 - index_}; }
  std::string_view way() const { return port_->find(kFarGid, kV2)->transport->name(); }
  Trunks& trunks() { return *trunks_; }
  transport_channel::ChannelTransport& tcp() { return tcp_; }
  verbs::FabricPort& port() { return *port_; }

  void on_channel(HostId, bool leads) override { told.emplace_back(leads ? "leads" : "follows"); }
  void on_channel_lost(HostId) override { told.emplace_back("channel lost"); }
  void on_trunk_offer(HostId, const wire::TrunkOffer& offer) override {
    told.push_back("offer " + std::to_string(offer.number.get()));
  }
  void on_trunk_ready(HostId, const wire::TrunkReady& ready) override {
    told.push_back("ready " + std::to_string(ready.number.get()));
  }
  void on_trunk_lost(HostId, std::uint64_t number, const std::string& reason) override {
    told.push_back("trunk " + std::to_string(number) + ": " + reason);
  }

  std::vector<std::string> told;
  std::vector<std::string> news;

 private:
  std::optional<verbs::AdapterId> find_local(verbs::SegmentId, const verbs::Gid&,
                                             verbs::GidType) const override {
    return std::nullopt;
  }

  const unsigned index_;
  fake::ScriptedTransport local_;
  fabric::Directory directory_;
  std::unique_ptr<verbs::FabricPort> port_;
  transport_channel::ChannelTransport tcp_;
  ChannelTenant tenant_;
  Worker& worker_;
  std::optional<Trunks> trunks_;
};

class TrunksTest : public testing::Test {
 protected:
  void start(bool second_arranges = true) {
    worker_ = std::move(*Worker::start({}));
    ask([&] {
      hosts_[0] = std::make_unique<TrunkHost>(*worker_, 0, true);
      hosts_[1] = std::make_unique<TrunkHost>(*worker_, 1, second_arranges);
      std::array<int, 2> sockets{};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()) != 0)
        std::abort();
      for (unsigned i = 0; i < 2; ++i) {
        auto stream = std::make_unique<transport_tcp::SocketStream>(UniqueFd(sockets.at(i)));
        ASSERT_TRUE(host(i).tcp().open({.host = host(i).peer(), .leads = i == 0}, std::move(stream),
                                       TrunkHost::now()));
      }
    });
    ASSERT_TRUE(waits_for([&] {
      return host(0).tcp().channel_to(host(0).peer()) && host(1).tcp().channel_to(host(1).peer());
    }));
  }
  ~TrunksTest() override {
    if (!worker_) return;
    ask([&] { hosts_ = {}; });
  }
  void open_trunk() {
    ask([&] {
      ends_ = fake::FakeTrunk::make_pair();
      for (unsigned i = 0; i < 2; ++i) {
        wire::TrunkNonce own{};
        wire::TrunkNonce peer{};
        own[0] = std::byte{static_cast<unsigned char>(i)};
        peer[0] = std::byte{static_cast<unsigned char>(1 - i)};
        Trunk trunk{.host = host(i).peer(),
                    .number = 7,
                    .device = "mlx5_0",
                    .port = 2,
                    .own = own,
                    .peer = peer,
                    .stream = std::make_unique<transport_hca::TrunkStream>(ends_.at(i)->port())};
        ASSERT_TRUE(host(i).trunks().open(std::move(trunk), TrunkHost::now()));
      }
    });
  }
  TrunkHost& host(unsigned i) { return *hosts_.at(i); }
  template <typename Act>
  void ask(Act act) {
    ASSERT_TRUE(worker_->ask([&] { return act(), true; }));
  }
  template <typename Condition>
  bool waits_for(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      if (worker_->ask([&] { return static_cast<bool>(condition()); }).value_or(false)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  bool leads_over(std::string_view name) {
    return waits_for([&] { return host(0).way() == name && host(1).way() == name; });
  }

  std::array<std::unique_ptr<TrunkHost>, 2> hosts_;
  std::array<std::unique_ptr<fake::FakeTrunk>, 2> ends_;
  std::unique_ptr<Worker> worker_;  // ends first
};

TEST_F(TrunksTest, TheHostThatHasDialedLeads) {
  start();
  ask([&] {
    EXPECT_THAT(host(0).told, ElementsAre("leads"));
    EXPECT_THAT(host(1).told, ElementsAre("follows"));
    host(0).tcp().send_trunk_offer(host(0).peer(), offer(3));
    host(0).tcp().send_trunk_ready(host(0).peer(), {.number = Le64(3)});
  });
  ASSERT_TRUE(waits_for([&] { return host(1).told.size() == 3; }));
  ask([&] { EXPECT_THAT(host(1).told, ElementsAre("follows", "offer 3", "ready 3")); });
}

TEST_F(TrunksTest, WhileThereIsATrunkTheWayLeadsOverIt) {
  start();
  ASSERT_TRUE(leads_over("tcp"));
  ask([&] { EXPECT_EQ(host(0).trunks().report(host(0).peer()).device, ""); });
  open_trunk();
  ASSERT_TRUE(leads_over("hca"));
  ask([&] {
    EXPECT_EQ(host(0).trunks().report(host(0).peer()).device, "mlx5_0");
    EXPECT_EQ(host(0).trunks().report(host(0).peer()).port, 2u);
    EXPECT_EQ(host(0).trunks().way_to(host(0).peer()).name(), "hca");
    ends_[0]->fail();
    ends_[1]->fail();
  });
  ASSERT_TRUE(leads_over("tcp"));
  ask([&] {
    EXPECT_EQ(host(0).told.back(), "trunk 7: the RDMA adapter is gone");
    EXPECT_THAT(host(0).news, ElementsAre("mlx5_0 is open", "mlx5_0: the RDMA adapter is gone"));
    EXPECT_EQ(host(0).trunks().report(host(0).peer()).device, "");
    EXPECT_EQ(host(0).trunks().way_to(host(0).peer()).name(), "tcp");
  });
  open_trunk();
  EXPECT_TRUE(leads_over("hca"));
}

TEST_F(TrunksTest, UntilThePeerSpeaksItIsBeingPrepared) {
  start();
  ask([&] {
    ends_ = fake::FakeTrunk::make_pair();
    Trunk trunk{.host = host(0).peer(),
                .number = 1,
                .device = "mlx5_0",
                .stream = std::make_unique<transport_hca::TrunkStream>(ends_[0]->port())};
    ASSERT_TRUE(host(0).trunks().open(std::move(trunk), TrunkHost::now()));
    const TrunkReport report = host(0).trunks().report(host(0).peer());
    EXPECT_EQ(report.device, "");
    EXPECT_EQ(report.why, "being prepared");
  });
}

// Not only when their own timeout, which may be long, has passed.
TEST_F(TrunksTest, QueuePairsOfATrunkThatEndsTryAgainAtOnce) {
  start();
  open_trunk();
  ASSERT_TRUE(leads_over("hca"));
  ask([&] {
    constexpr verbs::Gid kOwnGid{{0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
    ends_[1]->hang();
    TimerQueue timers;
    fake::EngineVm vm(verbs::AdapterId{1}, timers, host(0).port(), kOwnGid);
    host(0).tcp().attach(vm.adapter());
    host(0).trunks().transport().attach(vm.adapter());
    {
      const auto qp = vm.queue_pair();
      verbs::QpAttributes attributes = fake::default_attributes();
      attributes.timeout = 20;  // 4 s
      fake::EngineRig::bring_up_to(*qp, verbs::QpState::kReadyToSend, kFarGid, 77, attributes);
      qp->post(fake::send_request(1, {}));
      verbs::Budget budget{.bytes = 1 << 20, .operations = 64};
      vm.adapter().run(TrunkHost::now(), budget);
      EXPECT_FALSE(vm.adapter().has_work());
      host(0).trunks().set_none(host(0).peer(), {.why = "cut"}, TrunkHost::now());
      EXPECT_TRUE(vm.adapter().has_work());
      vm.adapter().run(TrunkHost::now(), budget);
      EXPECT_TRUE(host(0).tcp().has_work());
    }
    host(0).trunks().transport().detach(vm.adapter());
    host(0).tcp().detach(vm.adapter());
  });
}

TEST_F(TrunksTest, AReasonEndsIt) {
  start();
  open_trunk();
  ASSERT_TRUE(leads_over("hca"));
  ask([&] {
    host(0).trunks().set_none(host(0).peer(), {.why = "mlx5_0 was removed"}, TrunkHost::now());
    EXPECT_EQ(host(0).way(), "tcp");
    EXPECT_EQ(host(0).trunks().report(host(0).peer()).why, "mlx5_0 was removed");
    EXPECT_EQ(host(0).news.back(), "mlx5_0: mlx5_0 was removed");
  });
}

TEST_F(TrunksTest, AReasonOfThePeersIsToldAsThat) {
  start();
  open_trunk();
  ASSERT_TRUE(leads_over("hca"));
  ask([&] {
    host(0).trunks().set_none(host(0).peer(), {.why = "has its port down", .at_peer = true},
                              TrunkHost::now());
    EXPECT_EQ(host(0).news.back(), "mlx5_0: the peer has its port down");
  });
}

TEST_F(TrunksTest, ItEndsWithTheChannelInWhichItWasArranged) {
  start();
  open_trunk();
  ASSERT_TRUE(leads_over("hca"));
  ask([&] {
    host(0).told.clear();
    host(0).tcp().close(host(0).peer(), "closed", TrunkHost::now());
    EXPECT_THAT(host(0).told,
                ElementsAre("trunk 7: the channel over TCP has ended", "channel lost"));
    EXPECT_EQ(host(0).news.back(), "mlx5_0: the channel over TCP has ended");
  });
  EXPECT_TRUE(leads_over("tcp"));
}

TEST_F(TrunksTest, WithoutAListenerThereIsNone) {
  start();
  open_trunk();
  ASSERT_TRUE(leads_over("hca"));
  ask([&] { host(0).trunks().set_listener(nullptr, {host(0).peer()}, TrunkHost::now()); });
  EXPECT_TRUE(waits_for([&] { return host(0).way() == "tcp"; }));
  ask([&] {
    host(1).told.clear();
    host(1).trunks().set_listener(&host(1), {host(1).peer()}, TrunkHost::now());
    EXPECT_EQ(host(1).told.back(), "follows");
  });
}

TEST_F(TrunksTest, AHostOfAnEarlierReleaseHasNone) {
  start(false);
  ask([&] {
    const TrunkReport report = host(0).trunks().report(host(0).peer());
    EXPECT_TRUE(report.at_peer);
    EXPECT_EQ(report.why, "is of a release that has no hca path");
    host(0).tcp().send_trunk_offer(host(0).peer(), offer(3));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ask([&] {
    EXPECT_THAT(host(1).told, ElementsAre());
    EXPECT_NE(host(0).tcp().channel_to(host(0).peer()), nullptr);
  });
}

TEST_F(TrunksTest, OneThatComesTooLateIsRefused) {
  start();
  ask([&] {
    host(0).tcp().close(host(0).peer(), "closed", TrunkHost::now());
    auto ends = fake::FakeTrunk::make_pair();
    const Status opened = host(0).trunks().open(
        {.host = host(0).peer(),
         .number = 1,
         .stream = std::make_unique<transport_hca::TrunkStream>(ends[0]->port())},
        TrunkHost::now());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().message, "the channel over TCP has ended");
  });
}

}  // namespace
}  // namespace paravane::worker
