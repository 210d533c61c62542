// The fixture of tests in which another process goes on with a server.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {

inline constexpr std::uint64_t kHeldPage = 4096;
inline constexpr std::uint32_t kBar1 = 1;
inline constexpr std::uint32_t kBar2 = 2;

class VfioUserHandOver : public RequirementTest {
 protected:
  explicit VfioUserHandOver(VfioServerRig::Options options = {}) : RequirementTest(options) {}

  // Another process, which would save the very same.
  void hand_over() {
    const std::vector<std::byte> saved = now().save().bytes;
    rigs_.push_back(now().hand_over());
    EXPECT_EQ(now().save().bytes, saved);
    EXPECT_THAT(now().device().log(), ::testing::IsEmpty());
    now().pump(client_);
  }
  // Of the process that has the VMM.
  VfioServerRig& now() { return rigs_.empty() ? rig_ : *rigs_.back(); }

  static RawVfioClient::Bytes read_request(std::uint32_t region, std::uint64_t offset,
                                           std::uint32_t count) {
    return RawVfioClient::bytes_of(
        RegionAccess{.offset = Le64(offset), .region = Le32(region), .count = Le32(count)});
  }
  std::uint16_t send_write(std::uint64_t offset, std::uint32_t value) {
    const auto access = RawVfioClient::bytes_of(
        RegionAccess{.offset = Le64(offset), .region = Le32(kBar1), .count = Le32(4)});
    const auto word = RawVfioClient::bytes_of(Le32(value));
    return client_.send(Command::kRegionWrite, RawVfioClient::join({access, word}));
  }
  bool answered(std::uint16_t id) {
    const auto reply = client_.receive();
    return good(reply) && reply->header.id.get() == id;
  }

 private:
  std::vector<std::unique_ptr<VfioServerRig>> rigs_;
};

}  // namespace paravane::vfio_user
