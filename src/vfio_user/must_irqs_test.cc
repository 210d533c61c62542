// MUST 18, 19, and interrupts' part of 25: SET_IRQS and the eventfds.

#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
TEST_F(VfioUserMust, M18_AttachesAnEventfdToAVector) {
  client_.set_bus_master(true);
  const UniqueFd first = event();
  ASSERT_TRUE(attach_vector(1, first));
  rig_.interrupts().signal(1);
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(first), 1U);
}

TEST_F(VfioUserMust, M18_AttachesARangeInOneMessage) {
  client_.set_bus_master(true);
  const UniqueFd events[3] = {event(), event(), event()};
  const int fds[3] = {events[0].get(), events[1].get(), events[2].get()};
  const auto reply = client_.set_irqs(kEventfdTrigger, {.count = 3}, fds);
  ASSERT_TRUE(good(reply));
  EXPECT_EQ(reply->header.size.get(), 16U);
  for (std::uint16_t v = 0; v < 3; ++v) {
    rig_.interrupts().signal(v);
    EXPECT_EQ(take(events[v]), 1U) << v;
  }
}

TEST_F(VfioUserMust, M18_AttachesVectorsOverSeveralMessages) {
  client_.set_bus_master(true);
  const UniqueFd events[3] = {event(), event(), event()};
  const int fds[2] = {events[0].get(), events[1].get()};
  ASSERT_TRUE(good(client_.set_irqs(kEventfdTrigger, {.count = 2}, fds)));
  ASSERT_TRUE(attach_vector(2, events[2]));
  for (std::uint16_t v = 0; v < 3; ++v) {
    rig_.interrupts().signal(v);
    EXPECT_EQ(take(events[v]), 1U) << v;
  }
}

TEST_F(VfioUserMust, M18_CountZeroDetachesEverything) {
  client_.set_bus_master(true);
  const UniqueFd one = event();
  ASSERT_TRUE(attach_vector(0, one));
  ASSERT_TRUE(good(client_.set_irqs(kNoneTrigger, {})));
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(one), 0U);
}

TEST_F(VfioUserMust, M18_EventfdsWithoutDescriptorsDetachTheirRange) {
  client_.set_bus_master(true);
  const UniqueFd a = event();
  const UniqueFd b = event();
  ASSERT_TRUE(attach_vector(0, a));
  ASSERT_TRUE(attach_vector(1, b));
  ASSERT_TRUE(good(client_.set_irqs(kEventfdTrigger, {.start = 0, .count = 1})));
  rig_.interrupts().signal(0);
  rig_.interrupts().signal(1);
  EXPECT_EQ(take(a), 0U);
  EXPECT_EQ(take(b), 1U);
}

TEST_F(VfioUserMust, M18_AnInterruptOfADetachedVectorComesWhenItIsAttached) {
  client_.set_bus_master(true);
  rig_.interrupts().signal(2);
  rig_.interrupts().signal(2);
  const UniqueFd one = event();
  ASSERT_TRUE(attach_vector(2, one));
  EXPECT_EQ(take(one), 1U) << "latched once, like a pending bit";
  EXPECT_EQ(rig_.interrupts().signalled(2), 2U);
}

TEST_F(VfioUserMust, M18_RefusesMoreDescriptorsThanVectors) {
  const UniqueFd a = event();
  const int fds[2] = {a.get(), a.get()};
  const std::size_t before = open_descriptors();
  EXPECT_TRUE(refused(client_.set_irqs(kEventfdTrigger, {.count = 1}, fds), EINVAL));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(VfioUserMust, M18_RefusesFewerDescriptorsThanVectors) {
  const UniqueFd a = event();
  const int fd = a.get();
  EXPECT_TRUE(refused(client_.set_irqs(kEventfdTrigger, {.count = 2}, {&fd, 1}), EINVAL));
}

TEST_F(VfioUserMust, M18_RefusesRangesOutsideTheVectors) {
  const UniqueFd a = event();
  const int fd = a.get();
  using Range = RawVfioClient::IrqRange;
  for (const Range& range :
       {Range{.start = 3, .count = 1}, Range{.start = 0xFFFFFFFF, .count = 1},
        Range{.start = 2, .count = 2}, Range{.start = 1, .count = 0xFFFFFFFF},
        Range{.index = 0, .count = 1}, Range{.index = 1, .count = 1}, Range{.index = 4, .count = 1},
        Range{.index = 5, .count = 1}, Range{.index = 0xFFFFFFFF, .count = 1}}) {
    EXPECT_TRUE(refused(client_.set_irqs(kEventfdTrigger, range, {&fd, 1}), EINVAL))
        << range.index << " " << range.start << " " << range.count;
  }
  EXPECT_TRUE(refused(client_.set_irqs(kNoneTrigger, {.start = 2, .count = 2}), EINVAL));
}

TEST_F(VfioUserMust, M18_RefusesFlagsThatMakeNoSense) {
  for (const std::uint32_t flags : {0U, 0x20U, 0x01U, 0x23U, 0x25U, 0x31U, 0x61U, 0xFFFFFFFFU}) {
    EXPECT_TRUE(refused(client_.set_irqs(flags, {.count = 1}), EINVAL)) << flags;
  }
  EXPECT_TRUE(refused(client_.set_irqs(0x09, {.count = 1}), EINVAL)) << "mask";
  EXPECT_TRUE(refused(client_.set_irqs(0x11, {.count = 1}), EINVAL)) << "unmask";
  EXPECT_TRUE(refused(client_.call(Command::kSetIrqs, RawVfioClient::Bytes(19)), EINVAL));
  EXPECT_TRUE(refused(client_.call(Command::kSetIrqs, RawVfioClient::Bytes(20)), EINVAL));
}

TEST_F(VfioUserMust, M18_TakesOnlyEventfds) {
  int pipe_fds[2];
  ASSERT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  const UniqueFd read_end(pipe_fds[0]);
  const UniqueFd write_end(pipe_fds[1]);
  const UniqueFd file = ram(4096);
  for (const int fd : {write_end.get(), file.get(), client_.socket()}) {
    EXPECT_TRUE(refused(client_.set_irqs(kEventfdTrigger, {.count = 1}, {&fd, 1}), EINVAL));
  }
  const UniqueFd good_one = event();
  const int mixed[2] = {good_one.get(), file.get()};
  EXPECT_TRUE(refused(client_.set_irqs(kEventfdTrigger, {.count = 2}, mixed), EINVAL));
  client_.set_bus_master(true);
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(good_one), 0U) << "all or nothing";
}

TEST_F(VfioUserMust, M18_AFullBlockingEventfdDoesNotStopUs) {
  client_.set_bus_master(true);
  const UniqueFd full(eventfd(0, EFD_CLOEXEC));
  const std::uint64_t most = 0xFFFF'FFFF'FFFF'FFFE;
  ASSERT_EQ(::write(full.get(), &most, sizeof most), 8);
  ASSERT_TRUE(attach_vector(0, full));
  ASSERT_EQ(fcntl(full.get(), F_SETFL, 0), 0) << "blocking again: the flag is the VMM's too";
  rig_.interrupts().signal(0);  // a write would hang here
  EXPECT_GE(take(full), most);
}

TEST_F(VfioUserMust, M18_FiresVectorsOnRequest) {
  client_.set_bus_master(true);
  const UniqueFd events[3] = {event(), event(), event()};
  const int fds[3] = {events[0].get(), events[1].get(), events[2].get()};
  ASSERT_TRUE(good(client_.set_irqs(kEventfdTrigger, {.count = 3}, fds)));
  ASSERT_TRUE(good(client_.set_irqs(kNoneTrigger, {.start = 1, .count = 2})));
  EXPECT_EQ(take(events[0]), 0U);
  EXPECT_EQ(take(events[1]), 1U);
  EXPECT_EQ(take(events[2]), 1U);
  const std::byte which[3] = {std::byte{1}, std::byte{0}, std::byte{1}};
  ASSERT_TRUE(good(client_.set_irqs(0x22, {.count = 3}, {}, which)));
  EXPECT_EQ(take(events[0]), 1U);
  EXPECT_EQ(take(events[1]), 0U);
  EXPECT_EQ(take(events[2]), 1U);
  EXPECT_TRUE(refused(client_.set_irqs(0x22, {.count = 3}, {}, std::span(which).first(2)), EINVAL));
}

TEST_F(VfioUserMust, M18_TheErrorIndexTakesAnEventfdAndNeverSignalsIt) {
  const UniqueFd error = event();
  const int fd = error.get();
  ASSERT_TRUE(good(client_.set_irqs(kEventfdTrigger, {.index = 3, .count = 1}, {&fd, 1})));
  ASSERT_TRUE(good(client_.set_irqs(kEventfdTrigger, {.index = 3, .count = 1})));
  ASSERT_TRUE(good(client_.set_irqs(kNoneTrigger, {.index = 3})));
  EXPECT_EQ(take(error), 0U);
}

TEST_F(VfioUserMust, M18_DisablingAnIndexWithoutVectorsSucceeds) {
  for (std::uint32_t index = 0; index < 5; ++index) {
    EXPECT_TRUE(good(client_.set_irqs(kNoneTrigger, {.index = index}))) << index;
  }
}

TEST_F(VfioUserMust, M19_ASignalGoesToTheNewEventfdAfterASwap) {
  client_.set_bus_master(true);
  const UniqueFd old = event();
  const UniqueFd replacement = event();
  ASSERT_TRUE(attach_vector(0, old));
  rig_.interrupts().signal(0);
  ASSERT_TRUE(attach_vector(0, replacement));
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(old), 1U);
  EXPECT_EQ(take(replacement), 1U);
}

TEST_F(VfioUserMust, M19_SwapsLeaveNoDescriptorBehind) {
  const UniqueFd first = event();
  ASSERT_TRUE(attach_vector(0, first));
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    const UniqueFd next = event();
    ASSERT_TRUE(attach_vector(0, next));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(VfioUserMust, M25_InterruptsWaitForBusMastering) {
  const UniqueFd one = event();
  ASSERT_TRUE(attach_vector(0, one));
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(one), 0U);
  client_.set_bus_master(true);
  EXPECT_EQ(take(one), 1U);
  client_.set_bus_master(false);
  rig_.interrupts().signal(0);
  EXPECT_EQ(take(one), 0U);
}

}  // namespace paravane::vfio_user
