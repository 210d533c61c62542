// What an engine leaves to its heir, and what an heir refuses.

#include "privsep/estate_line.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "privsep/heir_facts.h"

namespace paravane::privsep {
namespace {

using testing::HasSubstr;

Instant estate_deadline() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(20);
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::vector<std::byte> some_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

bool is_same_file(int one, int other) {
  struct stat a{};
  struct stat b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_ino == b.st_ino &&
         a.st_dev == b.st_dev;
}

class EstateLineTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ends = EstateLine::make();
    ASSERT_TRUE(ends);
    raw_ = (*ends)[0].get();
    sender_.emplace(std::move((*ends)[0]));
    receiver_.emplace(std::move((*ends)[1]));
  }
  Result<std::vector<Parcel>> receive() { return receiver_->receive(estate_deadline()); }

  // A packet as a compromised engine may send it.
  void send_raw(const std::string& bytes, const std::vector<int>& descriptors = {}) const {
    std::string data = bytes;
    iovec part{.iov_base = data.data(), .iov_len = data.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<char> ancillary(CMSG_SPACE(descriptors.size() * sizeof(int)));
    if (!descriptors.empty()) {
      message.msg_control = ancillary.data();
      message.msg_controllen = ancillary.size();
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
      std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
    }
    ASSERT_GE(::sendmsg(raw_, &message, MSG_NOSIGNAL), 0) << std::strerror(errno);
  }
  static std::string head(char kind, std::uint32_t count, std::uint64_t bytes,
                          const std::string& name = {}) {
    std::string packet(1, kind);
    for (int i = 0; i < 4; ++i) packet += static_cast<char>(count >> (8 * i));
    for (int i = 0; i < 8; ++i) packet += static_cast<char>(bytes >> (8 * i));
    return packet + name;
  }
  void close_sender() { sender_.reset(); }

  int raw_ = -1;
  std::optional<EstateLine> sender_;
  std::optional<EstateLine> receiver_;
};

TEST_F(EstateLineTest, CarriesNamesBytesAndDescriptors) {
  const UniqueFd file(::memfd_create("file", MFD_CLOEXEC));
  const auto bytes = some_bytes(100'000);
  const int fd = file.get();
  ASSERT_TRUE(sender_->send("lock state", {}, {&fd, 1}, estate_deadline()));
  ASSERT_TRUE(sender_->send("adapter 1 db1", bytes, {}, estate_deadline()));
  ASSERT_TRUE(sender_->end(estate_deadline()));
  const auto parcels = receive();
  ASSERT_TRUE(parcels) << parcels.error().message;
  ASSERT_EQ(parcels->size(), 2U);
  EXPECT_EQ((*parcels)[0].name(), "lock state");
  ASSERT_EQ((*parcels)[0].descriptors.size(), 1U);
  EXPECT_TRUE(is_same_file((*parcels)[0].descriptors[0].get(), fd));
  EXPECT_EQ((*parcels)[1].bytes(), bytes.size());
  EXPECT_EQ(*(*parcels)[1].read(), bytes);
  EXPECT_EQ(*(*parcels)[1].read(), bytes);
}

TEST_F(EstateLineTest, CarriesAThousandDescriptorsInTheirOrder) {
  std::vector<UniqueFd> files;
  std::vector<int> numbers;
  for (std::size_t i = 0; i < Parcel::kMaxDescriptors; ++i) {
    files.emplace_back(::memfd_create("file", MFD_CLOEXEC));
    numbers.push_back(files.back().get());
    ASSERT_GE(numbers.back(), 0) << "raise the limit of descriptors";
  }
  std::jthread sending([&] {
    EXPECT_TRUE(sender_->send("adapter 1 db1", some_bytes(1), numbers, estate_deadline()));
    EXPECT_TRUE(sender_->end(estate_deadline()));
  });
  const auto parcels = receive();
  ASSERT_TRUE(parcels) << parcels.error().message;
  ASSERT_EQ((*parcels)[0].descriptors.size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_TRUE(is_same_file((*parcels)[0].descriptors[i].get(), numbers[i])) << i;
  }
}

TEST_F(EstateLineTest, RefusesToSendWhatIsTooLarge) {
  const std::vector<int> many(Parcel::kMaxDescriptors + 1, 0);
  EXPECT_FALSE(sender_->send("x", {}, many, estate_deadline()));
  EXPECT_FALSE(sender_->send(std::string(256, 'x'), {}, {}, estate_deadline()));
  EXPECT_FALSE(sender_->send("", {}, {}, estate_deadline()));
}

TEST_F(EstateLineTest, WaitsNoLongerThanItsDeadline) {
  const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  const auto late = receiver_->receive(soon);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("in time"));
  Status sent;
  for (int i = 0; i < 10'000 && sent; ++i) sent = sender_->send("x", {}, {}, soon);
  EXPECT_FALSE(sent);
}

TEST_F(EstateLineTest, SaysThatTheLineWasClosed) {
  ASSERT_TRUE(sender_->send("x", {}, {}, estate_deadline()));
  close_sender();
  EXPECT_FALSE(receive());
}

TEST_F(EstateLineTest, RefusesEveryOtherForm) {
  const UniqueFd file(::memfd_create("plain", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(file.get(), 8), 0);
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const int sealed_not = file.get();
  struct Case {
    std::string packet;
    std::vector<int> descriptors;
  };
  const std::vector<Case> cases = {
      {"x", {}},
      {head(1, 0, 0, std::string(300, 'n')), {}},
      {head(9, 0, 0, "x"), {}},
      {head(1, 0, 0), {}},
      {head(1, 0, 0, "a\nb"), {}},
      {head(1, 1025, 0, "x"), {}},
      {head(1, 0, (std::uint64_t{1} << 32), "x"), {sealed_not}},
      {head(1, 0, ~std::uint64_t{0}, "x"), {sealed_not}},
      {head(1, 0, 8, "x"), {}},
      {head(1, 0, 8, "x"), {sealed_not}},              // may change
      {head(1, 0, 8, "x"), {null.get()}},              // no file in memory
      {head(1, 0, 0, "x"), {sealed_not}},              // no bytes, but a file
      {head(1, 0, 8, "x"), {sealed_not, sealed_not}},  // two
      {head(2, 0, 0), {null.get()}},                   // descriptors of no parcel
      {head(3, 1, 0), {}},                             // an end of another number
      {head(3, 0, 0), {null.get()}},
  };
  const std::size_t before = open_descriptors();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    send_raw(cases[i].packet, cases[i].descriptors);
    EXPECT_FALSE(receive()) << i;
    EXPECT_EQ(open_descriptors(), before) << i;
  }
}

TEST_F(EstateLineTest, RefusesParcelsThatDoNotGetTheirDescriptors) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const std::size_t before = open_descriptors();
  send_raw(head(1, 2, 0, "x"));
  send_raw(head(2, 0, 0), {null.get()});
  send_raw(head(3, 1, 0));
  EXPECT_FALSE(receive());
  send_raw(head(1, 1, 0, "x"));
  send_raw(head(2, 0, 0), {null.get(), null.get()});
  EXPECT_FALSE(receive());
  send_raw(head(1, 1, 0, "x"));
  send_raw(head(1, 0, 0, "y"));
  EXPECT_FALSE(receive());
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(EstateLineTest, TakesABoundedNumberOfParcels) {
  std::jthread sending([&] {
    for (std::size_t i = 0; i < EstateLine::kMaxParcels + 1; ++i) {
      const std::string packet = head(1, 0, 0, "x");
      pollfd ready{.fd = raw_, .events = POLLOUT, .revents = 0};
      while (::send(raw_, packet.data(), packet.size(), MSG_NOSIGNAL) < 0 && errno == EAGAIN) {
        ::poll(&ready, 1, 100);
      }
    }
  });
  const auto parcels = receive();
  ASSERT_FALSE(parcels);
  EXPECT_EQ(parcels.error().code, Errc::kInvalidArgument);
}

// Whatever arrives, nothing is kept of what is refused.
TEST_F(EstateLineTest, LosesNoDescriptorsToDamage) {
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    SetUp();
    const std::size_t before = open_descriptors();
    {
      std::vector<std::string> packets = {head(1, 1, 0, "lock"), head(2, 0, 0), head(1, 2, 0, "x"),
                                          head(2, 0, 0), head(3, 2, 0)};
      std::vector<std::size_t> counts = {0, 1, 0, 2, 0};
      const std::size_t at = random() % packets.size();
      switch (random() % 3) {
        case 0:
          packets[at][random() % packets[at].size()] ^= static_cast<char>(1U << (random() % 8));
          break;
        case 1: counts[at] = random() % 4; break;
        default: std::swap(packets[at], packets[random() % packets.size()]); break;
      }
      for (std::size_t i = 0; i < packets.size(); ++i) {
        send_raw(packets[i], std::vector<int>(counts[i], null.get()));
      }
      ::shutdown(raw_, SHUT_WR);
      const auto parcels = receive();
    }
    // What was sent and not read is the line's.
    sender_.reset();
    receiver_.reset();
    EXPECT_EQ(open_descriptors() + 2, before) << round;
  }
}

TEST(HeirFactsTest, AreReadAsTheyAreWritten) {
  const HeirFacts facts{
      .version = "0.4.0", .store_schema = 5, .state_format = 1, .keeper_record = 2};
  EXPECT_EQ(*parse_heir_facts(print(facts)), facts);
  for (const char* text : {"", "0.4.0", "0.4.0 5", "0.4.0 5 1", "0.4.0 5 1 x", "0.4.0 5 1 2 3",
                           " 5 1 2", "v 5 -1 1", "v 99999999999 1 1"}) {
    EXPECT_FALSE(parse_heir_facts(text)) << text;
  }
}

}  // namespace
}  // namespace paravane::privsep
