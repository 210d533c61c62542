// What HostInfiniband tells of links, managers and cables.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "subnet_host/host_infiniband.h"
#include "subnet_host/subnet_parcel.h"
#include "testing/log_capture.h"
#include "testing/temp_dir.h"
#include "testing/umad_program.h"

namespace paravane::subnet_host {
namespace {

using fake::UmadProgram;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using wire::infiniband::PhysicalState;
using wire::infiniband::PortState;

constexpr std::chrono::seconds kPatience{60};
constexpr auto kFirstCable = subnet::Subnet::kFirstCablePort;

// As a manager has left a port whose link is there.
void make_up(subnet::PortImage& port, PortState state) {
  wire::infiniband::PortInfo& info = port.info;
  info.speed_supported_state =
      static_cast<std::uint8_t>((info.speed_supported_state & 0xF0) | static_cast<unsigned>(state));
  info.physical_state_default = static_cast<std::uint8_t>(
      (static_cast<unsigned>(PhysicalState::kLinkUp) << 4) | (info.physical_state_default & 0x0F));
}

class HostInfinibandEventsTest : public testing::Test {
 protected:
  HostInfinibandEventsTest() {
    store_ = std::move(*store::Store::open(dir_ / "paravane.db"));
    begin({});
    EXPECT_TRUE(infiniband_->add_ib_adapter({.name = "mlx4_0", .device = "MT26428", .bus = 13}));
    EXPECT_TRUE(infiniband_->add_ib_adapter({.name = "mlx4_1", .device = "MT26428", .bus = 14}));
    events_.clear();
  }
  void begin(std::span<const std::byte> inherited) {
    infiniband_.reset();
    posted_.clear();
    infiniband_ = std::make_unique<HostInfiniband>(
        HostInfinibandConfig{
            .host = "h1",
            .address_seed = "seed",
            .umad_socket = dir_ / "umad.sock",
            .umad_access = {.mode = 0600, .group = {}},
            .tell = [this](const model::Event& event) { events_.push_back(event); },
            .post = [this](std::function<void()> act) { post(std::move(act)); }},
        *store_);
    ASSERT_TRUE(infiniband_->load());
    infiniband_->begin(/*follows=*/!inherited.empty(), inherited);
  }
  // The next engine, where both adapters' ports are Active and the cable to host h2 is up.
  void be_replaced() {
    auto left = read_subnet_parcel(infiniband_->freeze());
    ASSERT_TRUE(left);
    subnet::SubnetImage& image = left->subnet;
    for (subnet::AdapterImage& adapter : image.adapters) {
      for (subnet::AdapterImage::Port& port : adapter.ports) {
        make_up(port.port, PortState::kActive);
        make_up(image.the_switch.ports.at(port.switch_port), PortState::kActive);
      }
    }
    make_up(image.the_switch.ports.at(kFirstCable), PortState::kActive);
    image.cables = {{.port = kFirstCable, .host = "h2"}};
    begin(write_subnet_parcel(*left));
    infiniband_->cables().set_hosts("h1", {"h2"});
    settle();
  }
  void post(std::function<void()> act) {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(act));
    came_.notify_one();
  }
  // Runs the next posted function; false: none waits.
  bool run_posted(std::chrono::seconds limit) {
    std::function<void()> act;
    {
      std::unique_lock lock(mutex_);
      if (!came_.wait_for(lock, limit, [this] { return !posted_.empty(); })) return false;
      act = std::move(posted_.front());
      posted_.pop_front();
    }
    act();
    return true;
  }
  // Until the subnet's thread has ended the turn in which it did what it was told before.
  void settle() {
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(infiniband_->list_ib_adapters());
    while (run_posted(std::chrono::seconds(0))) continue;
  }
  model::Event next_event() {
    while (events_.empty()) {
      if (!run_posted(kPatience)) return {.type = "nothing"};
    }
    model::Event event = events_.front();
    events_.erase(events_.begin());
    return event;
  }
  std::vector<std::string> types() const {
    std::vector<std::string> types;
    types.reserve(events_.size());
    for (const model::Event& event : events_) types.push_back(event.type);
    return types;
  }
  // A program at the door; each question waits for its answer.
  UmadProgram program() {
    UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (dir_ / "umad.sock").native().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    const int fd = client.get();
    return {std::move(client), [fd] {
              pollfd answer{.fd = fd, .events = POLLIN, .revents = 0};
              constexpr std::chrono::milliseconds kLimit = kPatience;
              EXPECT_EQ(::poll(&answer, 1, static_cast<int>(kLimit.count())), 1);
            }};
  }

  const LogCapture log_;
  TempDir dir_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::function<void()>> posted_;
  std::vector<model::Event> events_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<HostInfiniband> infiniband_;
};

TEST_F(HostInfinibandEventsTest, AManagerThatStartsAndOneThatEndsAreTold) {
  UmadProgram manager = program();
  const UniqueFd line = manager.open("mlx4_0", 0, 2);
  ASSERT_TRUE(line);
  EXPECT_EQ(manager.outcome(fake::question_of(umad::Ask::kManager, {}, 1, 0)),
            umad::Outcome::kDone);
  const model::Event started = next_event();
  EXPECT_EQ(started.type, "infiniband.manager.started");
  EXPECT_THAT(started.fields, UnorderedElementsAre(Pair("adapter", "mlx4_0"), Pair("port", "2")));
  manager.close();  // as that of a killed program
  const model::Event ended = next_event();
  EXPECT_EQ(ended.type, "infiniband.manager.ended");
  EXPECT_EQ(ended.severity, model::Severity::kWarning);
  EXPECT_THAT(log_.text(), HasSubstr("the subnet manager at port 2 of InfiniBand adapter mlx4_0 "
                                     "has ended"));
}

TEST_F(HostInfinibandEventsTest, WhatWasUpInTheEngineBeforeIsNotTold) {
  be_replaced();
  EXPECT_EQ(infiniband_->list_ib_adapters()->at(0).ports.at(0).state, model::IbPortState::kActive);
  EXPECT_EQ(infiniband_->ib_fabric()->links.back().peer, "host h2");
  EXPECT_THAT(types(), IsEmpty());
}

TEST_F(HostInfinibandEventsTest, MetricsHaveEachStateAsItIs) {
  be_replaced();
  const auto states = infiniband_->link_states();
  ASSERT_TRUE(states);
  std::vector<std::string> up;
  for (const LinkNews& state : *states) {
    if (state.is_up) up.push_back(event_of(state).type + " " + state.name);
  }
  EXPECT_EQ(states->size(), 9u) << "four ports, as many managers and a cable";
  EXPECT_THAT(up, ElementsAre("infiniband.port.up mlx4_0", "infiniband.port.up mlx4_0",
                              "infiniband.port.up mlx4_1", "infiniband.port.up mlx4_1",
                              "infiniband.cable.up h2"));
}

TEST_F(HostInfinibandEventsTest, ACableWhoseHostHasGoneIsDown) {
  be_replaced();
  infiniband_->cables().set_hosts("h1", {});
  const model::Event event = next_event();
  EXPECT_EQ(event.type, "infiniband.cable.down");
  EXPECT_EQ(event.fields.at("host"), "h2");
  EXPECT_EQ(event.fields.at("reason"), "no InfiniBand adapter of that host is known any more");
  EXPECT_THAT(log_.text(), HasSubstr("the cable to host h2 is down: no InfiniBand adapter"));
}

TEST_F(HostInfinibandEventsTest, WhatAnOperatorDoesTakesNoLinkDown) {
  be_replaced();
  infiniband_->cables().set_hosts("", {});  // out of the cluster
  settle();
  EXPECT_THAT(types(), IsEmpty());
  ASSERT_TRUE(infiniband_->remove_ib_adapter("mlx4_1"));
  settle();
  EXPECT_THAT(types(), ElementsAre("infiniband.adapter.removed"));
  ASSERT_TRUE(infiniband_->restart_infiniband());
  settle();
  EXPECT_THAT(types(), ElementsAre("infiniband.adapter.removed", "infiniband.restarted"));
}

}  // namespace
}  // namespace paravane::subnet_host
