// States of devices as earlier programs have written them, in states/, which each build reads. The
// last one has the form that this build writes. When that changes, docs/state.md says what to do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "test_rig.h"
#include "testing/fake_guest_end.h"
#include "testing/state_text.h"

namespace paravane::fake {
namespace {

const std::filesystem::path kFolder = PARAVANE_EARLIER_STATES;
constexpr const char* kNewest = "device-0.3.0.state";

// All that the state depends on is named here.
RigOptions options_of_states() {
  RigOptions options;
  options.vms = 1;
  options.ram_bytes = 64 << 20;
  options.hand_over_every = 0;
  options.config.limits.queue_pairs = 16;
  options.config.limits.completion_queues = 16;
  options.config.limits.shared_receive_queues = 4;
  options.config.limits.memory_regions = 16;
  options.config.limits.protection_domains = 8;
  options.config.limits.contexts = 4;
  options.config.limits.gids = 4;
  return options;
}

// A device with an object of each kind, and two queue pairs in the middle of requests.
class EarlierStates : public testing::Test {
 protected:
  EarlierStates() {
    FakeGuest& guest = rig_.guest();
    FakeSrq& shared = guest.create_srq({.pd = &a_.pd()});
    guest.create_qp({.pd = &a_.pd(), .send_cq = &a_.cq(), .receive_cq = &a_.cq(), .srq = &shared});
    guest.create_dma_mr(guest.create_pd(guest.kernel()));
    EXPECT_TRUE(connect(a_, b_));
    EXPECT_TRUE(b_.receive(1) && a_.send(2, 0, 100) && a_.send(3, 0, 200));
    rig_.settle();
  }
  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::filesystem::path& to) {
    std::ofstream file(to);
    file << "# The state of a device. `tests/conformance/earlier_states_test.cc` made it, and says "
            "of\n"
            "# what. It stays as it is.\n"
         << StateText::of(rig_.saved(0));
    ASSERT_TRUE(file.flush());
  }

  TestRig rig_{options_of_states()};
  FakeEnd a_{rig_.guest()};
  FakeEnd b_{rig_.guest()};
};

TEST_F(EarlierStates, AreRead) {
  const device::DeviceObjects made = rig_.device(0).objects();
  std::size_t states = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    SCOPED_TRACE(entry.path().filename());
    const Status taken = rig_.replace(0, StateText::read(text_of(entry.path())));
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_TRUE(same_objects(rig_.device(0).objects(), made));
    const auto again = rig_.saved(0);
    ASSERT_TRUE(rig_.replace(0, again));
    EXPECT_EQ(rig_.saved(0), again);
    ++states;
  }
  EXPECT_GE(states, 1u);
}

// With PARAVANE_WRITE_STATE=FILE, it is written there.
TEST_F(EarlierStates, TheNewestHasTheFormThatThisBuildWrites) {
  const char* file = std::getenv("PARAVANE_WRITE_STATE");  // NOLINT(concurrency-mt-unsafe)
  if (file != nullptr) return write(file);
  const std::string newest = text_of(kFolder / kNewest);
  EXPECT_EQ(StateText::form_of(rig_.saved(0)), StateText::form_of(StateText::read(newest)))
      << "the form of a state has changed: docs/state.md, \"When a state changes\"";
}

TEST_F(EarlierStates, ATextIsTheSameState) {
  const auto state = rig_.saved(0);
  EXPECT_EQ(StateText::read(StateText::of(state)), state);
}

TEST_F(EarlierStates, GoOnWhereTheyWere) {
  ASSERT_TRUE(rig_.replace(0, StateText::read(text_of(kFolder / kNewest))));
  ASSERT_TRUE(b_.receive(4));
  rig_.settle();
  rig_.advance(std::chrono::seconds(1));
  std::vector<std::uint64_t> done;
  for (pvrdma_cqe completion{}; a_.cq().take(completion);) {
    EXPECT_EQ(completion.status, PVRDMA_WC_SUCCESS);
    done.push_back(completion.wr_id);
  }
  EXPECT_EQ(done, (std::vector<std::uint64_t>{2, 3}));
}

}  // namespace
}  // namespace paravane::fake
