#include "subnet_host/host_infiniband.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "model/machine.h"
#include "testing/temp_dir.h"

namespace paravane::subnet_host {
namespace {

using model::ApiErrorCode;
using model::IbAdapter;
using model::IbPortState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HostInfinibandTest : public testing::Test {
 protected:
  HostInfinibandTest() { start(); }

  void start(bool follows = false) {
    infiniband_.reset();
    store_.reset();
    auto store = store::Store::open(dir_ / "paravane.db");
    ASSERT_TRUE(store);
    store_ = std::move(*store);
    infiniband_ = std::make_unique<HostInfiniband>(
        HostInfinibandConfig{
            .host = "h1",
            .address_seed = "seed",
            .umad_socket = door(),
            .umad_access = {.mode = 0600, .group = {}},
            .tell =
                [this](const model::Event& event) {
                  events_.push_back(event.type + ": " + event.text);
                },
            .nic_numbers = nic_numbers_,
            .uplinks_changed = [this] { seen_.push_back(infiniband_->uplinks()); },
            .uplink_lost = [this](const std::string& uplink) { lost_.push_back(uplink); },
            .use_of =
                [this](const std::string& uplink) {
                  HostInfinibandConfig::Use use;
                  if (uplink == used_) use = {.vds = "lan", .mtu = 9000};
                  return use;
                }},
        *store_);
    ASSERT_TRUE(infiniband_->load());
    infiniband_->begin(follows);
  }
  std::filesystem::path door() const { return dir_ / "umad.sock"; }
  bool has_door() const { return std::filesystem::exists(door()); }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto list = infiniband_->list_ib_adapters();
    if (!list) return {"?"};
    for (const auto& status : *list) names.push_back(status.adapter.name);
    return names;
  }
  static IbAdapter adapter(std::string name, std::uint32_t bus = 13,
                           std::string device = "MT26428") {
    return {.name = std::move(name), .device = std::move(device), .bus = bus};
  }
  template <typename T>
  static ApiErrorCode code(const model::ApiResult<T>& result) {
    return result ? ApiErrorCode{} : result.error().code;
  }
  bool connects() const {
    const UniqueFd client(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    door().native().copy(address.sun_path, sizeof address.sun_path - 1);
    return ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
           0;
  }

  // One end of a pair, and the other as a tap.
  static UniqueFd pair_with(UniqueFd& tap) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    tap = UniqueFd(ends[1]);
    return UniqueFd(ends[0]);
  }
  // After what the subnet's thread had been told before.
  bool is_open(const UniqueFd& far) {
    EXPECT_TRUE(infiniband_->list_ib_adapters());
    return ::send(far.get(), "x", 1, MSG_NOSIGNAL) == 1;
  }
  UniqueFd open(const std::string& uplink, std::uint32_t vlan = 0, bool tagged = false) {
    UniqueFd tap;
    UniqueFd far = pair_with(tap);
    infiniband_->open_uplink(
        {.uplink = uplink, .vlan = vlan, .tagged = tagged, .tap = std::move(tap)});
    return far;
  }

  std::shared_ptr<capture::Capture> capture_of(const std::string& uplink, std::uint64_t id = 1) {
    auto capture =
        std::make_shared<capture::Capture>(id, model::CaptureSpec{.uplink = uplink},
                                           std::vector{uplink}, std::chrono::steady_clock::now());
    EXPECT_TRUE(infiniband_->start_capture(uplink, capture));
    return capture;
  }

  TempDir dir_;
  std::vector<std::string> events_;
  std::set<unsigned> nic_numbers_;
  std::vector<std::string> lost_;               // uplinks
  std::string used_;                            // the uplink of switch lan
  std::vector<std::vector<std::string>> seen_;  // at each change
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<HostInfiniband> infiniband_;
};

TEST_F(HostInfinibandTest, WithoutAnAdapterThereIsNoDoorAndNoSwitch) {
  EXPECT_FALSE(has_door());
  EXPECT_THAT(names(), IsEmpty());
  const auto fabric = infiniband_->ib_fabric();
  ASSERT_TRUE(fabric);
  EXPECT_EQ(fabric->switch_guid, 0u);
  EXPECT_THAT(fabric->links, IsEmpty());
}

TEST_F(HostInfinibandTest, AnAdapterHasItsPortsAndLinks) {
  const auto added = infiniband_->add_ib_adapter(adapter("mlx4_0"));
  ASSERT_TRUE(added);
  EXPECT_EQ(added->description, "ConnectX IB QDR, PCIe 2.0 5.0GT/s");
  ASSERT_THAT(added->ports, SizeIs(2));
  EXPECT_EQ(added->ports[0].rate_gbps, 40u);
  EXPECT_EQ(added->ports[0].guid, added->guid + 1);
  EXPECT_EQ(added->guid >> 40, 0x025056u);
  EXPECT_TRUE(has_door());
  EXPECT_TRUE(connects());
  struct stat file{};
  ASSERT_EQ(::stat(door().c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777u, 0600u);
  const auto fabric = infiniband_->ib_fabric();
  ASSERT_TRUE(fabric);
  ASSERT_THAT(fabric->links, SizeIs(2));
  EXPECT_EQ(fabric->links[1].peer, "mlx4_0 port 2");
  EXPECT_THAT(
      events_,
      ElementsAre("infiniband.adapter.added: InfiniBand adapter mlx4_0 (MT26428) was added"));
}

TEST_F(HostInfinibandTest, PortsWaitForASubnetManagerAndSayWhatToDo) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  // The links are trained in the thread's first turn.
  for (int i = 0; i < 1000; ++i) {
    const auto list = infiniband_->list_ib_adapters();
    ASSERT_TRUE(list);
    if (list->front().ports[0].state == IbPortState::kInitializing) {
      EXPECT_THAT(list->front().ports[0].problem, HasSubstr("start opensm"));
      return;
    }
  }
  FAIL() << "the port is still down";
}

TEST_F(HostInfinibandTest, AdaptersAreThereAgainWithTheirGuids) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mthca0", 3, "MT25204")));
  const auto before = infiniband_->list_ib_adapters();
  start();
  const auto after = infiniband_->list_ib_adapters();
  ASSERT_TRUE(before && after);
  ASSERT_THAT(*after, SizeIs(2));
  EXPECT_EQ((*after)[0].guid, (*before)[0].guid);
  EXPECT_EQ((*after)[1].guid, (*before)[1].guid);
  EXPECT_NE((*after)[0].guid, (*after)[1].guid);
  EXPECT_THAT((*after)[1].ports, SizeIs(1));
  EXPECT_TRUE(connects());
}

// The file that a killed daemon, or an engine that was replaced, leaves behind.
TEST_F(HostInfinibandTest, TheDoorIsMadeAnewOverWhatWasLeft) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  infiniband_.reset();
  {
    const UniqueFd killed(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    door().native().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(killed.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  start(/*follows=*/true);
  EXPECT_TRUE(connects());
}

TEST_F(HostInfinibandTest, TheLastAdapterTakesTheDoorWithIt) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 1)));
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("b", 2)));
  ASSERT_TRUE(infiniband_->remove_ib_adapter("a"));
  EXPECT_THAT(names(), ElementsAre("b"));
  EXPECT_TRUE(has_door());
  ASSERT_TRUE(infiniband_->remove_ib_adapter("b"));
  EXPECT_FALSE(has_door());
  start();
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(HostInfinibandTest, RefusesWhatCannotBe) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0", 13)));
  EXPECT_EQ(code(infiniband_->add_ib_adapter(adapter("mlx4_0", 14))), ApiErrorCode::kExists);
  const auto taken = infiniband_->add_ib_adapter(adapter("mlx4_1", 13));
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("PCI bus 13 already has InfiniBand adapter mlx4_0"));
  EXPECT_EQ(code(infiniband_->remove_ib_adapter("mlx4_9")), ApiErrorCode::kNotFound);
  for (std::uint32_t i = 1; i < model::kMaxIbAdapters; ++i)
    ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("x" + std::to_string(i), 20 + i)));
  EXPECT_EQ(code(infiniband_->add_ib_adapter(adapter("more", 99))), ApiErrorCode::kLimitReached);
}

TEST_F(HostInfinibandTest, ADoorThatCannotBeMadeLeavesNothing) {
  std::filesystem::create_directory(door());
  const auto added = infiniband_->add_ib_adapter(adapter("mlx4_0"));
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, HasSubstr(door().string()));
  EXPECT_THAT(names(), IsEmpty());
  start();
  EXPECT_THAT(names(), IsEmpty());
}

// Neither a file nor a socket with a listener is taken away.
TEST_F(HostInfinibandTest, WhatStandsInTheDoorsPlaceStays) {
  std::ofstream(door()).put('x');
  EXPECT_FALSE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  EXPECT_TRUE(has_door());
  std::filesystem::remove(door());

  const UniqueFd other(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  door().native().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(other.get(), 1), 0);
  EXPECT_FALSE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  EXPECT_TRUE(connects());
}

TEST_F(HostInfinibandTest, AnAdapterThatWasNotMadeSaysWhy) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  infiniband_.reset();
  std::filesystem::create_directory(door());  // where the socket is to be
  start();
  auto list = infiniband_->list_ib_adapters();
  ASSERT_TRUE(list);
  ASSERT_THAT(*list, SizeIs(1));
  EXPECT_THAT((*list)[0].ports, IsEmpty());
  EXPECT_THAT((*list)[0].problem, HasSubstr("it was not made: "));
  EXPECT_THAT((*list)[0].problem, HasSubstr("paravane infiniband restart"));
  std::filesystem::remove(door());
  ASSERT_TRUE(infiniband_->restart_infiniband());
  list = infiniband_->list_ib_adapters();
  ASSERT_TRUE(list);
  EXPECT_THAT((*list)[0].ports, SizeIs(2));
  EXPECT_EQ((*list)[0].problem, "");
}

TEST_F(HostInfinibandTest, TheFabricSaysWhereTheDoorIs) {
  EXPECT_EQ(infiniband_->ib_fabric()->umad_socket, door().string());
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  EXPECT_EQ(infiniband_->ib_fabric()->umad_socket, door().string());
}

TEST_F(HostInfinibandTest, ADamagedRecordIsLeftOutAndCanBeRemoved) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  ASSERT_TRUE(store_->put_document("ib_adapter", "mlx4_0", {{"name", "mlx4_0"}}));
  start();
  EXPECT_THAT(names(), IsEmpty());
  ASSERT_THAT(store_->left_out(), SizeIs(1));
  EXPECT_EQ(store_->left_out()[0].kind, "InfiniBand adapter");
  const auto again = infiniband_->add_ib_adapter(adapter("mlx4_0"));
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message, HasSubstr("is damaged"));
  ASSERT_TRUE(infiniband_->remove_ib_adapter("mlx4_0"));
  EXPECT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
}

TEST_F(HostInfinibandTest, ARestartMakesAllAdaptersAnew) {
  EXPECT_TRUE(infiniband_->restart_infiniband());
  EXPECT_FALSE(has_door());
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("mlx4_0")));
  ASSERT_TRUE(infiniband_->restart_infiniband());
  EXPECT_THAT(names(), ElementsAre("mlx4_0"));
  EXPECT_TRUE(connects());
}

TEST_F(HostInfinibandTest, ARestartThatFailsTellsOfItsTapsToo) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 1)));
  const UniqueFd tap = open("vmnic32");
  EXPECT_TRUE(is_open(tap));
  std::filesystem::remove(door());
  std::filesystem::create_directory(door());
  EXPECT_FALSE(infiniband_->restart_infiniband());
  EXPECT_FALSE(is_open(tap));
  EXPECT_THAT(lost_, ElementsAre("vmnic32", "vmnic33"));
  EXPECT_THAT(events_, testing::Not(testing::Contains(HasSubstr("restarted"))));
}

TEST_F(HostInfinibandTest, EachPortMakesAnUplinkInTheOrderOfBuses) {
  EXPECT_THAT(infiniband_->uplinks(), IsEmpty());
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("b", 13)));
  EXPECT_THAT(infiniband_->uplinks(), ElementsAre("vmnic32", "vmnic33"));
  // One that comes later has later numbers, and stands at its bus.
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 14)));
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("c", 3, "MT25204")));
  const std::vector<std::string> all{"vmnic36", "vmnic32", "vmnic33", "vmnic34", "vmnic35"};
  EXPECT_EQ(infiniband_->uplinks(), all);
  EXPECT_THAT(seen_, ElementsAre(SizeIs(2), SizeIs(4), SizeIs(5)));
  start();
  EXPECT_EQ(infiniband_->uplinks(), all);
  EXPECT_THAT(seen_, SizeIs(3));  // the host asks when it has begun
}

TEST_F(HostInfinibandTest, AnUplinkKeepsItsNumberWhileItsAdapterIsAway) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 1)));
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("b", 2)));
  ASSERT_TRUE(infiniband_->remove_ib_adapter("a"));
  EXPECT_THAT(infiniband_->uplinks(), ElementsAre("vmnic34", "vmnic35"));
  start();
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("c", 3)));
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 4)));
  EXPECT_THAT(infiniband_->uplinks(),
              ElementsAre("vmnic34", "vmnic35", "vmnic36", "vmnic37", "vmnic32", "vmnic33"));
}

TEST_F(HostInfinibandTest, AHostHasSixteenUplinksAndNoneWithTheNumberOfANic) {
  nic_numbers_ = {1, 33, 47, 48};
  start();
  for (std::uint32_t i = 0; i < model::kMaxIbAdapters; ++i)
    ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("x" + std::to_string(i), 20 + i)));
  std::vector<std::string> wanted;
  for (int number = 32; number <= 46; ++number) {
    if (number != 33) wanted.push_back("vmnic" + std::to_string(number));
  }
  EXPECT_EQ(infiniband_->uplinks(), wanted);
  // Those that have none get the numbers of what is gone.
  ASSERT_TRUE(infiniband_->remove_ib_adapter("x0"));
  EXPECT_THAT(infiniband_->uplinks(), SizeIs(14));
  EXPECT_EQ(infiniband_->uplinks().back(), "vmnic34");
}

TEST_F(HostInfinibandTest, AnAdapterWhoseUplinkASwitchUsesIsNotRemoved) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 1)));
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("b", 2)));
  used_ = "vmnic35";
  EXPECT_TRUE(infiniband_->remove_ib_adapter("a"));
  const auto refused = infiniband_->remove_ib_adapter("b");
  EXPECT_EQ(code(refused), ApiErrorCode::kInUse);
  EXPECT_EQ(refused.error().message,
            "vmnic35, which InfiniBand adapter b makes of its port 2, is the uplink of switch lan");
  EXPECT_THAT(refused.error().remedy, HasSubstr("paravane vds uplink lan none"));
  EXPECT_THAT(names(), ElementsAre("b"));
  used_.clear();
  EXPECT_TRUE(infiniband_->remove_ib_adapter("b"));
}

TEST_F(HostInfinibandTest, TapsOfAnUplinkAreOpenUntilTheyAreClosed) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 1)));
  const UniqueFd stranger = open("vmnic40");
  EXPECT_FALSE(is_open(stranger));
  const UniqueFd untagged = open("vmnic32");
  const UniqueFd ten = open("vmnic32", 10);
  const UniqueFd twenty = open("vmnic32", 20);
  const UniqueFd all = open("vmnic33", 0, true);
  const UniqueFd other = open("vmnic32", 10);
  EXPECT_FALSE(is_open(ten));  // replaced
  EXPECT_TRUE(is_open(other));
  infiniband_->close_uplink("vmnic32", 10);
  infiniband_->close_uplink("vmnic33", 0);  // no VLAN's
  EXPECT_FALSE(is_open(other));
  EXPECT_TRUE(is_open(untagged) && is_open(twenty) && is_open(all));
  infiniband_->close_uplink("vmnic32");
  EXPECT_FALSE(is_open(untagged) || is_open(twenty));
  EXPECT_TRUE(is_open(all));
  ASSERT_TRUE(infiniband_->remove_ib_adapter("a"));
  EXPECT_FALSE(is_open(all));
}

TEST_F(HostInfinibandTest, ACaptureEndsWithItsAdapter) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 1)));
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("b", 2)));
  const auto of_a = capture_of("vmnic33", 1);
  const auto of_b = capture_of("vmnic34", 2);
  ASSERT_TRUE(infiniband_->remove_ib_adapter("a"));
  EXPECT_TRUE(infiniband_->list_ib_adapters());  // after the thread has removed it
  EXPECT_TRUE(of_a->has_ended());
  EXPECT_FALSE(of_b->has_ended());
  ASSERT_TRUE(infiniband_->remove_ib_adapter("b"));
  EXPECT_TRUE(of_b->has_ended());
}

TEST_F(HostInfinibandTest, ACaptureEndsWhenAllAdaptersAreMadeAnew) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 1)));
  const auto capture = capture_of("vmnic32");
  EXPECT_FALSE(capture->has_ended());
  ASSERT_TRUE(infiniband_->restart_infiniband());
  EXPECT_TRUE(capture->has_ended());
  EXPECT_TRUE(infiniband_->end_capture(1));
}

TEST_F(HostInfinibandTest, ACaptureEndsOnRequest) {
  ASSERT_TRUE(infiniband_->add_ib_adapter(adapter("a", 1)));
  const auto one = capture_of("vmnic32", 1);
  const auto other = capture_of("vmnic33", 2);
  EXPECT_TRUE(infiniband_->end_capture(1));
  EXPECT_TRUE(one->has_ended());
  EXPECT_FALSE(other->has_ended());
}

}  // namespace
}  // namespace paravane::subnet_host
