// What is saved of an attachment, as an enemy would write it: it is refused, nothing leaks, and the
// server that has the VMM goes on.

#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <random>
#include <utility>

#include "testing/edited_state.h"
#include "vfio_user/requirements_test.h"

namespace paravane::vfio_user {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kHostilePage = 4096;
// Tags, as they lead to a record.
constexpr std::uint16_t kInterruptsOf = 2;
constexpr std::uint16_t kServerOf = 3;

class HostileHandOver : public RequirementTest {
 protected:
  // A VMM with all that a VMM has, in the middle of a message.
  HostileHandOver() {
    EXPECT_TRUE(good(client_.dma_map(first_.get(), 0, 0, kHostilePage)));
    EXPECT_TRUE(good(client_.dma_map(second_.get(), 0, 0x10000, kHostilePage)));
    EXPECT_TRUE(attach_vector(0, event0_));
    EXPECT_TRUE(attach_vector(2, event0_));
    client_.set_bus_master(true);
    const int fd = event0_.get();
    EXPECT_TRUE(client_.send_bytes(RawVfioClient::Bytes(5), {&fd, 1}));
    rig_.step();
    rig_.device().clear_log();
  }
  // Descriptors of the state, in their order.
  enum Descriptor : std::uint8_t {
    kFirstFile,
    kSecondFile,
    kEvent,
    kEventOf2,
    kListen,
    kClient,
    kAll
  };

  // Why a server does not adopt it. What adopts it plays a while, and abandons it.
  std::string why_not(VfioServerRig::State state) {
    const auto heir = VfioServerRig::make_heir(rig_);
    const Status loaded = heir->load(std::move(state));
    if (!loaded) {
      if (heir->has_server()) heir->server().abandon();
      return loaded.error().message;
    }
    for (int turn = 0; turn < 3; ++turn) heir->step();
    heir->interrupts().signal(0);
    heir->server().answer(ReplyToken{1});
    static_cast<void>(heir->memory().read<std::uint64_t>(GuestAddr{8}));
    heir->step();
    // Saved again, whatever it is.
    static_cast<void>(heir->save());
    heir->server().abandon();
    return "";
  }
  std::string why_not_with(std::vector<std::uint16_t> path, const StateEdit& edit) {
    VfioServerRig::State state = rig_.save();
    state.bytes = edited(state.bytes, path, edit);
    return why_not(std::move(state));
  }
  std::string why_not_with(Descriptor which, UniqueFd other) {
    VfioServerRig::State state = rig_.save();
    EXPECT_EQ(state.descriptors.size(), kAll);
    state.descriptors.at(which) = std::move(other);
    return why_not(std::move(state));
  }
  // The VMM and its server are as they were.
  void expect_untouched() {
    EXPECT_THAT(rig_.device().log(), IsEmpty());
    EXPECT_TRUE(rig_.server().attached());
    EXPECT_TRUE(client_.stays_silent());
    EXPECT_TRUE(std::filesystem::exists(rig_.socket_path()));
  }

  static UniqueFd a_socket(int type) {
    return UniqueFd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  }
  static UniqueFd a_listener(const std::filesystem::path& path, int type = SOCK_STREAM) {
    UniqueFd socket = a_socket(type);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    return socket;
  }
  static UniqueFd nothing() { return UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

  const UniqueFd first_ = ram(kHostilePage);
  const UniqueFd second_ = ram(kHostilePage);
  const UniqueFd event0_ = event();
};

TEST_F(HostileHandOver, TheStateItselfIsAdopted) {
  const std::size_t before = open_descriptors();
  EXPECT_EQ(why_not(rig_.save()), "");
  EXPECT_EQ(open_descriptors(), before);
  expect_untouched();
}

TEST_F(HostileHandOver, AStateThatIsCutOffIsRefused) {
  const std::size_t size = rig_.save().bytes.size();
  const std::size_t before = open_descriptors();
  for (std::size_t cut = 0; cut < size; ++cut) {
    VfioServerRig::State state = rig_.save();
    state.bytes.resize(cut);
    ASSERT_THAT(why_not(std::move(state)), HasSubstr("the state is refused")) << cut;
    ASSERT_EQ(open_descriptors(), before) << cut;
  }
  expect_untouched();
}

TEST_F(HostileHandOver, DamageDoesNoHarm) {
  std::mt19937 random(11);
  const std::size_t size = rig_.save().bytes.size();
  const std::size_t before = open_descriptors();
  int adopted = 0;
  for (int round = 0; round < 600; ++round) {
    VfioServerRig::State state = rig_.save();
    for (int i = 0; i < 1 + round % 3; ++i) {
      state.bytes[random() % size] = static_cast<std::byte>(random());
    }
    adopted += why_not(std::move(state)).empty() ? 1 : 0;
    ASSERT_EQ(open_descriptors(), before) << round;
  }
  EXPECT_GT(adopted, 0);
  EXPECT_TRUE(rig_.server().attached());
}

TEST_F(HostileHandOver, DescriptorsThatAreMissingAreRefused) {
  for (std::size_t left = 0; left < kAll; ++left) {
    VfioServerRig::State state = rig_.save();
    state.descriptors.resize(left);
    EXPECT_THAT(why_not(std::move(state)), HasSubstr("a descriptor is missing")) << left;
  }
  expect_untouched();
}

TEST_F(HostileHandOver, DescriptorsThatChangePlacesAreRefused) {
  for (std::size_t one = 0; one < kAll; ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      const bool are_alike =
          (other == kEvent || other == kEventOf2) && (one == kEvent || one == kEventOf2);
      if (are_alike || one == kSecondFile) continue;
      VfioServerRig::State state = rig_.save();
      std::swap(state.descriptors[one], state.descriptors[other]);
      EXPECT_NE(why_not(std::move(state)), "") << one << " and " << other;
    }
  }
  expect_untouched();
}

TEST_F(HostileHandOver, DescriptorsOfAnotherKindAreRefused) {
  for (const Descriptor which : {kFirstFile, kEvent, kListen, kClient}) {
    EXPECT_NE(why_not_with(which, nothing()), "") << which;
    EXPECT_NE(why_not_with(which, a_socket(SOCK_STREAM)), "") << which;
    EXPECT_NE(why_not_with(which, a_socket(SOCK_SEQPACKET)), "") << which;
    EXPECT_NE(why_not_with(which, UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))), "");
    EXPECT_NE(why_not_with(which, UniqueFd(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC))), "");
  }
  expect_untouched();
}

TEST_F(HostileHandOver, SocketsOfAnotherPathAreRefused) {
  const TempDir elsewhere;
  EXPECT_THAT(why_not_with(kListen, a_listener(elsewhere.path() / "a")),
              HasSubstr("does not listen there"));
  EXPECT_THAT(why_not_with(kListen, a_listener(elsewhere.path() / "b", SOCK_SEQPACKET)),
              HasSubstr("does not listen there"));
  // As the VMM has it: its end has no address.
  EXPECT_THAT(why_not_with(kClient, UniqueFd(::fcntl(client_.socket(), F_DUPFD_CLOEXEC, 0))),
              HasSubstr("not a client's"));
  EXPECT_TRUE(std::filesystem::exists(elsewhere.path() / "a"));
  expect_untouched();
}

// accept() would block the worker.
TEST_F(HostileHandOver, AListenerThatBlocksIsRefused) {
  VfioServerRig::State state = rig_.save();
  const int fd = state.descriptors[kListen].get();
  ASSERT_EQ(::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK), 0);
  EXPECT_THAT(why_not(std::move(state)), HasSubstr("does not listen there"));
}

TEST_F(HostileHandOver, RegistersThatCannotBeWrittenAreRefused) {
  const auto with_byte = [&](std::size_t at, std::byte bits) {
    return why_not_with({kServerOf, 3, 3, 2, 1, 1}, [at, bits](std::span<const std::byte> bytes) {
      StateBytes changed(bytes.begin(), bytes.end());
      changed[at] ^= bits;
      return changed;
    });
  };
  EXPECT_THAT(with_byte(0, std::byte{1}), HasSubstr("cannot be written")) << "the vendor";
  EXPECT_THAT(with_byte(0x10, std::byte{8}), HasSubstr("cannot be written")) << "the size of a BAR";
  EXPECT_THAT(with_byte(255, std::byte{1}), HasSubstr("cannot be written"));
  EXPECT_EQ(with_byte(0x3C, std::byte{1}), "") << "the interrupt line";
  EXPECT_THAT(with_byte(4, std::byte{4}), HasSubstr("Bus Master Enable"));
  expect_untouched();
}

TEST_F(HostileHandOver, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_THAT(why_not_with({1, 4}, to_number(0)), HasSubstr("Bus Master Enable"));
  EXPECT_THAT(why_not_with({kInterruptsOf, 1}, to_number(0)), HasSubstr("Bus Master Enable"));
  EXPECT_THAT(why_not_with({kInterruptsOf, 2, 2}, to_number(1)), HasSubstr("a signal waits"));
  EXPECT_THAT(why_not_with({kServerOf, 3, 3, 2, 2}, to_number(1)), HasSubstr("resets the device"));
  EXPECT_NE(why_not_with({kServerOf, 2}, to_number(UINT64_MAX)), "") << "the last token";
}

TEST_F(HostileHandOver, AnAttachmentWithoutAVmmIsRefused) {
  const auto without = [](std::span<const std::byte>) { return StateBytes(); };
  EXPECT_NE(why_not_with({kServerOf, 3}, without), "");
  // The client is as before VERSION.
  const auto cut = [](std::span<const std::byte> client) {
    StateBytes kept;
    for (const int tag : {1, 2}) {
      state::RecordHeader header;
      std::memcpy(&header, client.data(), sizeof header);
      EXPECT_EQ(header.tag.get(), tag);
      const std::size_t size = sizeof header + header.bytes.get();
      kept.insert(kept.end(), client.begin(), client.begin() + static_cast<std::ptrdiff_t>(size));
      client = client.subspan(size);
    }
    return kept;
  };
  EXPECT_THAT(why_not_with({kServerOf, 3}, cut), HasSubstr("no VMM is"));
  expect_untouched();
}

TEST_F(HostileHandOver, AResponseThatIsOwedComesAlone) {
  client_.send_bytes(RawVfioClient::Bytes(100));  // ends the VMM of the constructor
  for (int turn = 0; turn < 3; ++turn) rig_.step();
  client_ = rig_.attach();
  rig_.device().defer({.writes = true});
  client_.write_value<std::uint32_t>(1, 0, 1, 0);
  ASSERT_EQ(rig_.device().tokens().size(), 1U);
  EXPECT_EQ(why_not(rig_.save()), "");
  const auto is_reply = [](std::span<const std::byte> header) {
    StateBytes changed(header.begin(), header.end());
    changed[8] = std::byte{1};
    return changed;
  };
  EXPECT_THAT(why_not_with({kServerOf, 3, 3, 3, 1}, is_reply), HasSubstr("answered later"));
  EXPECT_THAT(why_not_with({kServerOf, 2}, to_number(0)), HasSubstr("answered later"));
  EXPECT_NE(why_not_with({kServerOf, 3, 3, 3, 2}, to_number(UINT64_MAX)), "");
  // And a response that is being sent.
  const auto sending = [](std::span<const std::byte> connection) {
    StateBytes changed(connection.begin(), connection.end());
    state::Writer out;
    {
      const state::Writer::Group group(out, state::Tag{2});
      out.bytes(state::Tag{1}, StateBytes(20));
    }
    for (const std::byte one : out.take()) changed.push_back(one);
    return changed;
  };
  EXPECT_THAT(why_not_with({kServerOf, 3, 2}, sending), HasSubstr("two responses"));
}

TEST_F(HostileHandOver, AResponseCarriesWhatTheDeviceLends) {
  const auto sending = [](std::size_t bytes, std::uint64_t bar) {
    return [bytes, bar](std::span<const std::byte> connection) {
      StateBytes changed(connection.begin(), connection.end());
      state::Writer out;
      {
        const state::Writer::Group group(out, state::Tag{2});
        out.bytes(state::Tag{1}, StateBytes(bytes));
        out.number(state::Tag{2}, bar);
      }
      for (const std::byte one : out.take()) changed.push_back(one);
      return changed;
    };
  };
  EXPECT_THAT(why_not_with({kServerOf, 3, 2}, sending(20, 0)), HasSubstr("no such descriptor"));
  EXPECT_THAT(why_not_with({kServerOf, 3, 2}, sending(20, 6)), HasSubstr("above 5"));
  EXPECT_THAT(why_not_with({kServerOf, 3, 2}, sending(0, 2)), HasSubstr("no bytes"));
  EXPECT_THAT(why_not_with({kServerOf, 3, 2}, sending(kMaxMessageBytes + 1, 2)),
              HasSubstr("are more than"));
  expect_untouched();
  EXPECT_EQ(why_not_with({kServerOf, 3, 2}, sending(20, 2)), "");
  const auto sent = client_.receive_now();
  EXPECT_FALSE(sent) << "no message, but it came";
}

TEST_F(HostileHandOver, MessagesThatAreNotThereCannotBeTakenOut) {
  const std::vector<std::uint16_t> path{kServerOf, 3, 2, 1};
  const auto bytes_dealt_with = [](std::uint64_t bytes) {
    return [bytes](std::span<const std::byte>) {
      state::Writer out;
      out.number(state::Tag{1}, bytes);
      return out.take();
    };
  };
  EXPECT_THAT(why_not_with(path, bytes_dealt_with(kMaxMessageBytes + 1)), HasSubstr("is above"));
  EXPECT_EQ(why_not_with(path, bytes_dealt_with(kMaxMessageBytes)), "");
}

// Its vectors are others.
TEST_F(HostileHandOver, AnotherDeviceIsRefused) {
  const auto vectors = [](std::span<const std::byte> interrupts) {
    StateBytes twice(interrupts.begin(), interrupts.end());
    const StateBytes again(interrupts.begin() + 7, interrupts.end());
    twice.insert(twice.end(), again.begin(), again.end());
    return twice;
  };
  EXPECT_NE(why_not_with({kInterruptsOf}, vectors), "");
}

}  // namespace
}  // namespace paravane::vfio_user
