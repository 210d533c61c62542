// A vmhba on a real worker's thread, in a time of the test's: no target is there.

#include "storage/vmhba.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>

#include "worker/worker.h"

namespace paravane::storage {
namespace {

class VmhbaTest : public testing::Test {
 protected:
  struct Parts {
    explicit Parts(worker::Worker& worker) : ports(worker, 1, {}) {}
    worker::PortTable ports;
    std::unique_ptr<host_verbs::ServiceMemory> memory =
        host_verbs::ServiceMemory::make({.payloads = 8, .messages = 2048}).value();
    TimerQueue timers;
    Instant now{std::chrono::hours(1)};
    std::vector<std::uint32_t> gone;
    unsigned pumps = 0;
    std::unique_ptr<Vmhba> one, other;

    std::unique_ptr<Vmhba> make(const VmhbaOrder& order) {
      auto made = Vmhba::make(
          order, ports, *memory, timers,
          {.units_found = [](Vmhba&, Target&, const std::vector<UnitFacts>&) {},
           .units_lost = [](Vmhba&, Target&, const std::string&) {},
           .target_gone = [this](Vmhba&, std::uint32_t target) { gone.push_back(target); },
           .wake = [] {}},
          now);
      EXPECT_TRUE(made) << (made ? "" : made.error().message);
      return made ? std::move(*made) : nullptr;
    }
    bool step() {
      bool worked = timers.run_due(now) > 0;
      for (Vmhba* vmhba : {one.get(), other.get()}) {
        if (vmhba == nullptr || (!vmhba->has_work() && vmhba->next_look() > now)) continue;
        verbs::Budget budget{.bytes = 4 << 20, .operations = 256};
        vmhba->pump(now, budget);
        ++pumps;
        worked = true;
      }
      return worked;
    }
    // Everything happens when it is due. False: there is no end.
    bool pass(Duration time) {
      const Instant end = now + time;
      for (unsigned rounds = 0; rounds < 100'000; ++rounds) {
        if (step()) continue;
        Instant next = std::min(timers.next_deadline(), one->next_look());
        if (other) next = std::min(next, other->next_look());
        if (next >= end) {
          now = end;
          return true;
        }
        now = std::max(now, next);
      }
      return false;
    }
  };

  static VmhbaOrder order_of(std::uint32_t number) {
    return {.name = "vmhba" + std::to_string(number),
            .number = number,
            .port_guid = std::uint64_t{0x0202'C9FF'FE00'0000} + number,
            .is_up = true};
  }
  static TargetAddress named(std::uint8_t last) {
    TargetAddress address;
    address.service = 1;
    address.gid.raw = {0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0xFF, 0xFE, 0, 0, last};
    return address;
  }
  // On the worker's thread.
  void run(const std::function<void(Parts&)>& body) {
    const bool done = worker
                          ->ask([&] {
                            Parts parts(*worker);
                            body(parts);
                            parts.one.reset();
                            parts.other.reset();
                            return true;
                          })
                          .has_value();
    EXPECT_TRUE(done);
  }

  std::unique_ptr<worker::Worker> worker = worker::Worker::start({.waits_for_begin = true}).value();
};

TEST_F(VmhbaTest, LooksAroundSomeTimesAndThenSleeps) {
  run([](Parts& parts) {
    parts.one = parts.make(order_of(32));
    EXPECT_TRUE(parts.pass(std::chrono::minutes(1)));
    EXPECT_FALSE(parts.one->has_work());
    EXPECT_EQ(parts.one->next_look(), kNever);
    EXPECT_FALSE(parts.one->is_scanning());
    EXPECT_TRUE(parts.one->targets().empty());
    EXPECT_LT(parts.pumps, 20u);
  });
}

TEST_F(VmhbaTest, DoesNothingWhileItIsDown) {
  run([](Parts& parts) {
    VmhbaOrder order = order_of(32);
    order.is_up = false;
    order.named = {named(9)};
    parts.one = parts.make(order);
    EXPECT_TRUE(parts.pass(std::chrono::minutes(1)));
    EXPECT_EQ(parts.one->next_look(), kNever);
    EXPECT_FALSE(parts.one->has_work());
    parts.one->rescan(parts.now);
    EXPECT_FALSE(parts.one->has_work());
    order.named = {named(8)};
    parts.one->change(order, parts.now);
    EXPECT_TRUE(parts.pass(std::chrono::minutes(1)));
    ASSERT_EQ(parts.one->targets().size(), 1u);
    EXPECT_EQ(parts.one->targets().begin()->second->login(), nullptr);
    order.is_up = true;
    parts.one->change(order, parts.now);
    EXPECT_TRUE(parts.one->has_work());
    parts.step();
    EXPECT_NE(parts.one->targets().begin()->second->login(), nullptr);
  });
}

// The other vmhba answers no questions, so a search lasts until its tries are over.
TEST_F(VmhbaTest, SleepsBetweenTheStepsOfASearch) {
  run([](Parts& parts) {
    parts.one = parts.make(order_of(32));
    EXPECT_TRUE(parts.pass(std::chrono::minutes(1)));
    parts.other = parts.make(order_of(33));
    EXPECT_LE(parts.one->next_look(), parts.now) << "the GIDs of the network have changed";
    parts.pumps = 0;
    EXPECT_TRUE(parts.pass(std::chrono::minutes(2)));
    EXPECT_LT(parts.pumps, 1000u);
    EXPECT_EQ(parts.one->next_look(), kNever);
    EXPECT_EQ(parts.other->next_look(), kNever);
    EXPECT_TRUE(parts.one->targets().empty());
  });
}

TEST_F(VmhbaTest, TriesTargetsThatHaveLeftTheNetworkAndNoOthers) {
  run([](Parts& parts) {
    VmhbaOrder order = order_of(32);
    order.named = {named(1), named(2)};
    parts.one = parts.make(order);
    auto place = parts.ports.join_service({.vm = "there", .number = 0}, named(1).gid, {});
    ASSERT_TRUE(place);
    ASSERT_TRUE(place->fabric->announce(named(1).gid, verbs::GidType::kRoceV1));
    parts.ports.directory().set_link(place->id, true);
    const auto is_tried = [&](std::uint32_t number) {
      return parts.one->targets().at(number)->is_looking();
    };
    EXPECT_TRUE(parts.pass(std::chrono::milliseconds(400)));
    EXPECT_FALSE(is_tried(1)) << "it may be back soon";
    EXPECT_TRUE(parts.pass(std::chrono::milliseconds(200)));
    EXPECT_TRUE(is_tried(1));
    EXPECT_FALSE(is_tried(0));
    parts.ports.directory().set_link(place->id, false);
    EXPECT_TRUE(parts.pass(std::chrono::milliseconds(600)));
    EXPECT_TRUE(is_tried(0));
    place->fabric.reset();
    parts.ports.forget_service(place->id);
  });
}

TEST_F(VmhbaTest, OfNamedTargetsItHasAsManyAsItMay) {
  run([](Parts& parts) {
    VmhbaOrder order = order_of(32);
    order.named = {named(1), named(2), named(3)};
    order.most_targets = 2;
    parts.one = parts.make(order);
    EXPECT_EQ(parts.one->targets().size(), 2u);
    EXPECT_THAT(parts.one->problem(parts.now), testing::HasSubstr("max_srp_targets=2"));
    order.named = {named(2), named(3)};
    parts.one->change(order, parts.now);
    EXPECT_EQ(parts.one->targets().size(), 2u);
    EXPECT_EQ(parts.one->problem(parts.now), "");
  });
}

// A guest that configures the address of a vmhba must not take its targets on VMs away.
TEST_F(VmhbaTest, GoesOnWithoutAnAddressThatAnotherAdapterHasAndTakesItLater) {
  run([](Parts& parts) {
    verbs::Gid address;
    address.raw = neighbour::address_of(0x0A00'0009);
    auto place = parts.ports.join_service({.vm = "guest", .number = 0}, named(7).gid, {});
    ASSERT_TRUE(place);
    ASSERT_TRUE(place->fabric->announce(address, verbs::GidType::kRoceV2));
    VmhbaOrder order = order_of(32);
    order.ipv4 = Ipv4Interface{.address = 0x0A00'0009, .prefix = 24};
    parts.one = parts.make(order);
    ASSERT_NE(parts.one, nullptr);
    EXPECT_TRUE(parts.pass(std::chrono::seconds(1)));
    EXPECT_THAT(parts.one->problem(parts.now), testing::HasSubstr("IPv4 address cannot be used"));
    place->fabric->withdraw(address, verbs::GidType::kRoceV2);
    EXPECT_TRUE(parts.pass(std::chrono::seconds(1)));
    EXPECT_EQ(parts.one->problem(parts.now), "");
    EXPECT_FALSE(place->fabric->announce(address, verbs::GidType::kRoceV2)) << "it is the vmhba's";
    place->fabric.reset();
    parts.ports.forget_service(place->id);
  });
}

TEST_F(VmhbaTest, NamedTargetsComeAndGo) {
  run([](Parts& parts) {
    VmhbaOrder order = order_of(32);
    order.named = {named(1), named(2)};
    parts.one = parts.make(order);
    EXPECT_EQ(parts.one->targets().size(), 2u);
    EXPECT_TRUE(parts.pass(std::chrono::seconds(5)));
    order.named = {named(2), named(3)};
    EXPECT_TRUE(parts.one->can_change_to(order));
    parts.one->change(order, parts.now);
    EXPECT_EQ(parts.gone, std::vector<std::uint32_t>{0});
    EXPECT_EQ(parts.one->targets().size(), 2u);
    EXPECT_TRUE(parts.one->targets().contains(2)) << "numbers are not used again";
    order.named.clear();
    parts.one->change(order, parts.now);
    EXPECT_TRUE(parts.one->targets().empty());
  });
}

TEST_F(VmhbaTest, AnotherPortOrNetworkIsAnotherVmhba) {
  run([](Parts& parts) {
    parts.one = parts.make(order_of(32));
    VmhbaOrder order = order_of(32);
    EXPECT_TRUE(parts.one->can_change_to(order));
    order.is_up = false;
    order.most_targets = 64;
    EXPECT_TRUE(parts.one->can_change_to(order));
    order.port_guid ^= 1;
    EXPECT_FALSE(parts.one->can_change_to(order));
    EXPECT_EQ(parts.one->initiator_text(), "0xfe800000000000000202c9fffe000020");
  });
}

}  // namespace
}  // namespace paravane::storage
