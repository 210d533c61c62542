// LocalTransportFixture: two VMs on the local path, a queue pair in each, and a
// message long enough to be stopped in the middle.
//
// Owner thread only.

#pragma once

#include <gtest/gtest.h>

#include "testing/engine_rig.h"

namespace paravane::fake {

inline constexpr std::uint64_t kMiB = 1 << 20;

class LocalTransportFixture : public testing::Test {
 protected:
  LocalTransportFixture() {
    attributes_.timeout = 10;  // 4 ms
    attributes_.retry_count = 1;
    rig_.a().fill(from_, 1);
  }
  void connect() { rig_.connect(rig_.a(), *qp_a_, rig_.b(), *qp_b_, attributes_); }
  // A write of four slices that stops in the middle.
  void begin_write() {
    connect();
    qp_a_->post(write_request(1, {from_.whole()}, to_.start, to_.key));
    rig_.turn({.bytes = 1, .operations = 64});
    ASSERT_TRUE(rig_.local().has_work());
    ASSERT_EQ(qp_a_->sends.size(), 0u);
  }
  void begin_send() {
    connect();
    qp_b_->post(receive_request(7, {to_.whole()}));
    qp_a_->post(send_request(1, {from_.whole()}));
    rig_.turn({.bytes = 1, .operations = 64});
    ASSERT_TRUE(rig_.local().has_work());
  }
  std::byte last_byte_at_b() { return rig_.b().read(to_, to_.length - 1, 1).front(); }
  void give_up() { rig_.advance(std::chrono::seconds(3)); }

  EngineRig rig_;
  verbs::QpAttributes attributes_ = default_attributes();
  EngineBuffer from_ = rig_.a().buffer(kMiB);
  EngineBuffer to_ = rig_.b().buffer(kMiB);
  std::unique_ptr<EngineQp> qp_a_ = rig_.a().queue_pair();
  std::unique_ptr<EngineQp> qp_b_ = rig_.b().queue_pair();
};

}  // namespace paravane::fake
