// Each message of a VMM, with memory that fails at one allocation after the other.

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "testing/log_capture.h"
#include "testing/scarce_memory.h"
#include "testing/vfio_server_rig.h"

namespace paravane {
namespace {

using vfio_user::Command;

struct Outcome {
  std::optional<RawVfioClient::Reply> reply;
  bool has_failed = false;
};

class VfioUserScarcity : public ::testing::Test {
 protected:
  // The server has as many turns as it wants; what is sent and read is the client's.
  Outcome call(RawVfioClient& client, Command command, std::span<const std::byte> payload,
               std::uint64_t failing, std::span<const int> fds = {}) {
    client.send(command, payload, fds);
    Outcome outcome;
    {
      const ScarceMemory scarce(failing);
      for (int i = 0; i < 3; ++i) step();
      outcome.has_failed = scarce.has_failed();
    }
    outcome.reply = client.receive();
    return outcome;
  }
  // As the worker's boundary for a VM's turn: nothing is to come so far.
  void step() { rig_.step(); }

  // Until it goes through. `undo` after each that did something.
  void with_less_and_less(Command command, const RawVfioClient::Bytes& payload,
                          const std::function<void()>& undo, std::span<const int> fds = {}) {
    bool has_failed = true;
    for (std::uint64_t number = 1; has_failed; ++number) {
      const Outcome outcome = call(client_, command, payload, number, fds);
      has_failed = outcome.has_failed;
      ASSERT_TRUE(outcome.reply) << number;
      if (outcome.reply->is_error()) {
        ++refused_;
        ASSERT_TRUE(has_failed) << number;
        ASSERT_TRUE(outcome.reply->error() == ENOMEM || outcome.reply->error() == EMFILE)
            << number << ": " << outcome.reply->error();
      } else {
        undo();
      }
      ASSERT_EQ(rig_.memory().usage().ranges, 0u) << number;
      rig_.pass(std::chrono::milliseconds(20));
    }
    ASSERT_TRUE(rig_.server().attached());
  }

  const LogCapture log_;
  VfioServerRig rig_;
  RawVfioClient client_ = rig_.attach();
  std::uint64_t refused_ = 0;
};

RawVfioClient::Bytes dma_map() {
  vfio_user::DmaMap map{};
  map.argsz.set(sizeof map);
  map.flags.set(3);
  map.iova.set(0x100000);
  map.size.set(0x10000);
  return RawVfioClient::bytes_of(map);
}

TEST_F(VfioUserScarcity, DmaMap) {
  const UniqueFd memory(::memfd_create("ram", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(memory.get(), 0x10000), 0);
  const int fd = memory.get();
  with_less_and_less(
      Command::kDmaMap, dma_map(),
      [&] {
        ASSERT_TRUE(client_.dma_unmap(0x100000, 0x10000));
        rig_.pass(std::chrono::seconds(20));  // the file, too, is new the next time
        step();
        ASSERT_EQ(rig_.memory().usage().files, 0u);
      },
      std::span(&fd, 1));
  EXPECT_GT(refused_, 0u);
}

TEST_F(VfioUserScarcity, DmaUnmap) {
  bool has_failed = true;
  for (std::uint64_t number = 1; has_failed; ++number) {
    ASSERT_TRUE(client_.dma_map(-1, 0, 0x100000, 0x30000));
    // A hole in the middle, which makes two of one.
    vfio_user::DmaUnmap unmap{};
    unmap.argsz.set(sizeof unmap);
    unmap.iova.set(0x110000);
    unmap.size.set(0x10000);
    const Outcome outcome =
        call(client_, Command::kDmaUnmap, RawVfioClient::bytes_of(unmap), number);
    has_failed = outcome.has_failed;
    ASSERT_TRUE(outcome.reply) << number;
    if (outcome.reply->is_error()) {
      ASSERT_EQ(outcome.reply->error(), ENOMEM) << number;
    }
    ASSERT_TRUE(client_.dma_unmap(0x100000, 0x30000)) << number;
    ASSERT_EQ(rig_.memory().usage().ranges, 0u) << number;
    rig_.pass(std::chrono::milliseconds(20));
  }
}

TEST_F(VfioUserScarcity, SetIrqs) {
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  const int fd = event.get();
  vfio_user::SetIrqs set{};
  set.argsz.set(sizeof set);
  set.flags.set(vfio_user::SetIrqs::kDataEventfd | vfio_user::SetIrqs::kTrigger);
  set.index.set(2);
  set.count.set(1);
  with_less_and_less(Command::kSetIrqs, RawVfioClient::bytes_of(set), [] {}, std::span(&fd, 1));
  EXPECT_GT(refused_, 0u);
}

TEST_F(VfioUserScarcity, Questions) {
  vfio_user::DeviceInfo device{};
  device.argsz.set(sizeof device);
  with_less_and_less(Command::kGetInfo, RawVfioClient::bytes_of(device), [] {});
  vfio_user::RegionAccess read{};
  read.region.set(7);  // configuration space
  read.count.set(4);
  with_less_and_less(Command::kRegionRead, RawVfioClient::bytes_of(read), [] {});
}

TEST_F(VfioUserScarcity, AVmmThatComes) {
  client_.hang_up();
  step();
  step();
  bool has_failed = true;
  for (std::uint64_t number = 1; has_failed; ++number) {
    RawVfioClient client = rig_.connect();
    {
      const ScarceMemory scarce(number);
      step();
      step();
      has_failed = scarce.has_failed();
    }
    if (!has_failed) {
      ASSERT_TRUE(client.negotiate()) << number;
    }
    client.hang_up();
    rig_.pass(std::chrono::milliseconds(20));
    for (int i = 0; i < 4; ++i) step();
    ASSERT_FALSE(rig_.server().attached()) << number;
  }
  EXPECT_TRUE(rig_.attach().connected());
}

}  // namespace
}  // namespace paravane
