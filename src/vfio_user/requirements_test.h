// The fixtures of the requirement tests: a server with a fake function, and a VMM that is attached
// to it.
//
// Tests are named after the requirement that they show: M05 is MUST 5, S41 SHOULD 41 of
// docs/vfio-user.md.

#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "testing/vfio_server_rig.h"

namespace paravane::vfio_user {

class RequirementTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kEventfdTrigger = 0x24;
  static constexpr std::uint32_t kNoneTrigger = 0x21;

  explicit RequirementTest(VfioServerRig::Options options = {})
      : rig_(options), client_(rig_.attach()) {
    rig_.device().clear_log();
  }

  // An answer came and says success.
  static bool good(const std::optional<RawVfioClient::Reply>& reply) {
    return reply && !reply->is_error();
  }
  // An error answer: a bare header with this errno.
  static bool refused(const std::optional<RawVfioClient::Reply>& reply, int error) {
    return reply && reply->is_error() && reply->error() == error && reply->payload.empty();
  }

  static UniqueFd event() { return UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }
  // How often it was signalled since the last look.
  static std::uint64_t take(const UniqueFd& event) {
    std::uint64_t count = 0;
    return ::read(event.get(), &count, sizeof count) == sizeof count ? count : 0;
  }
  static UniqueFd ram(std::uint64_t bytes) {
    UniqueFd file(memfd_create("ram", MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
    return file;
  }
  static std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }

  bool attach_vector(std::uint32_t vector, const UniqueFd& event) {
    const int fd = event.get();
    return good(client_.set_irqs(kEventfdTrigger, {.start = vector, .count = 1}, {&fd, 1}));
  }

  VfioServerRig rig_;
  RawVfioClient client_;
};

class VfioUserMust : public RequirementTest {};
class VfioUserShould : public RequirementTest {};

}  // namespace paravane::vfio_user
