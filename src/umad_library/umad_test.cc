// The functions of libibumad as a program calls them, with a door that answers as it should.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "umad_library/fake_door.h"
#include "umad_library/smi_gsi_pairs.h"
#include "umad_library/umad_abi.h"
#include "umad_library/umad_test_mads.h"

namespace paravane::umad_library {
namespace {

using umad::Ask;

class UmadTest : public ::testing::Test {
 protected:
  ~UmadTest() override {
    for (const int fd : opened_) umad_close_port(fd);
  }
  int open(const char* name = "paravane0", int port = 1) {
    const int fd = umad_open_port(name, port);
    if (fd >= 0) opened_.push_back(fd);
    return fd;
  }
  std::uint32_t line() { return door_.questions(Ask::kOpen).back().line.get(); }
  static umad::MadPart head(std::uint32_t agent) {
    umad::MadPart part;
    part.agent = Le32(agent);
    part.address.lid = Be16(9);
    return part;
  }

  FakeDoor door_;
  std::vector<int> opened_;
};

TEST_F(UmadTest, ListsAdaptersByName) {
  door_.set_adapters(
      {{.name = "b", .ports = {}}, {.name = "a", .ports = {}}, {.name = "c", .ports = {}}});
  std::array<char[UMAD_CA_NAME_LEN], 2> names{};
  EXPECT_EQ(umad_get_cas_names(names.data(), 2), 2);
  EXPECT_STREQ(names[0], "a");
  EXPECT_STREQ(names[1], "b");
  umad_device_node* list = umad_get_ca_device_list();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(umad_sort_ca_device_list(&list, 3), 0);
  EXPECT_EQ(umad_sort_ca_device_list(&list, 2), EINVAL);
  EXPECT_EQ(umad_sort_ca_device_list(&list, 4), EINVAL);
  EXPECT_STREQ(list->next->next->ca_name, "c");
  umad_free_ca_device_list(list);
  door_.set_adapters({});
  errno = 5;
  EXPECT_EQ(umad_get_ca_device_list(), nullptr);
  EXPECT_EQ(errno, 0);
  EXPECT_EQ(umad_get_cas_names(names.data(), 2), 0);
}

TEST_F(UmadTest, ShowsAnAdapterAndItsPorts) {
  door_.set_adapters({{.name = "x", .ports = {{.guid = 0x11}, {.guid = 0x12}}}});
  umad_ca_t ca;
  ASSERT_EQ(umad_get_ca("x", &ca), 0);
  EXPECT_STREQ(ca.ca_name, "x");
  EXPECT_EQ(ca.numports, 2);
  EXPECT_EQ(ca.node_type, 1U);
  EXPECT_STREQ(ca.fw_ver, "1.2.3");
  EXPECT_STREQ(ca.ca_type, std::string(39, 't').c_str());
  EXPECT_EQ(be64toh(ca.node_guid), 0x0102030405060708U);
  ASSERT_NE(ca.ports[2], nullptr);
  EXPECT_EQ(ca.ports[0], nullptr);
  EXPECT_EQ(be64toh(ca.ports[2]->port_guid), 0x12U);
  EXPECT_EQ(umad_release_ca(&ca), 0);
  EXPECT_EQ(ca.ports[2], nullptr);

  umad_port_t port;
  ASSERT_EQ(umad_get_port("x", 1, &port), 0);
  EXPECT_STREQ(port.link_layer, "InfiniBand");
  EXPECT_EQ(port.base_lid, 7U);
  EXPECT_EQ(port.pkeys_size, 2U);
  EXPECT_EQ(port.pkeys[1], 0x8001U);
  EXPECT_EQ(be64toh(port.gid_prefix), 0xFE80000000000000U);
  EXPECT_EQ(umad_release_port(&port), 0);
  EXPECT_EQ(port.pkeys, nullptr);

  std::array<__be64, 3> guids{};
  EXPECT_EQ(umad_get_ca_portguids("x", guids.data(), 3), 3);
  EXPECT_EQ(guids[0], 0U);
  EXPECT_EQ(be64toh(guids[1]), 0x11U);
  EXPECT_EQ(umad_get_ca_portguids("x", guids.data(), 2), -ENOMEM);
  EXPECT_EQ(umad_get_ca_portguids("x", nullptr, 0), 0);
}

TEST_F(UmadTest, SaysWhatIsNotThere) {
  umad_ca_t ca;
  umad_port_t port;
  std::array<__be64, 3> guids{};
  EXPECT_EQ(umad_get_ca("none", &ca), -ENOENT);
  EXPECT_EQ(umad_get_ca("a name that is much too long for it", &ca), -ENOENT);
  EXPECT_EQ(umad_get_port("paravane0", 2, &port), -EIO);
  EXPECT_EQ(umad_get_port("paravane0", -1, &port), -EIO);
  EXPECT_EQ(umad_get_ca_portguids("none", guids.data(), 3), -1);
  EXPECT_EQ(umad_open_port("none", 1), -EINVAL);
  EXPECT_EQ(umad_open_port("none", 0), -ENODEV);
  EXPECT_EQ(umad_open_port("paravane0", 2), -EINVAL);
  EXPECT_EQ(umad_release_ca(nullptr), -ENODEV);
  EXPECT_EQ(umad_release_port(nullptr), -ENODEV);
  door_.set_adapters({});
  EXPECT_EQ(umad_open_port(nullptr, 0), -ENODEV);
  EXPECT_EQ(umad_get_ca(nullptr, &ca), -ENODEV);
}

TEST_F(UmadTest, ChoosesAPortAsRdmaCoreDoes) {
  constexpr std::uint32_t kInit = 2;
  constexpr std::uint32_t kNoSmi = 0x400;
  door_.set_adapters({{.name = "eth", .ports = {{.link_layer = "Ethernet", .guid = 1}}},
                      {.name = "half", .ports = {{.state = kInit, .guid = 2}}},
                      {.name = "up",
                       .ports = {{.state = kInit, .physical_state = 3, .guid = 3},
                                 {.state = 4, .capabilities = kNoSmi, .guid = 4},
                                 {.state = 4, .guid = 5}}}});
  umad_port_t port;
  ASSERT_EQ(umad_get_port(nullptr, 0, &port), 0);
  EXPECT_STREQ(port.ca_name, "up");
  EXPECT_EQ(port.portnum, 2);
  umad_release_port(&port);
  ASSERT_EQ(umad_get_port("half", 0, &port), 0);
  EXPECT_EQ(port.portnum, 1) << "it has a link";
  umad_release_port(&port);
  ASSERT_EQ(umad_get_port("eth", 0, &port), 0) << "it is not disabled";
  umad_release_port(&port);
  const int fd = umad_open_smi_port(nullptr, 0);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(door_.questions(Ask::kOpen).back().port.get(), 3U) << "SMPs pass";
  umad_close_port(fd);
  EXPECT_EQ(umad_open_smi_port(nullptr, 2), -EINVAL) << "none: the default name, and its port";
}

TEST_F(UmadTest, ASwitchHasPortZero) {
  door_.set_adapters({{.name = "sw", .ports = {{.guid = 1}}, .node_type = 2}});
  umad_ca_t ca;
  ASSERT_EQ(umad_get_ca("sw", &ca), 0);
  EXPECT_EQ(ca.numports, 0);
  EXPECT_NE(ca.ports[0], nullptr);
  umad_release_ca(&ca);
}

TEST_F(UmadTest, PairsSmiAndGsi) {
  constexpr std::uint32_t kNoSmi = 0x400;
  door_.set_adapters({{.name = "a", .ports = {{.guid = 1}}},
                      {.name = "g", .ports = {{.capabilities = kNoSmi, .guid = 9}}},
                      {.name = "s", .ports = {{.guid = 9}}}});
  std::array<CaPair, 4> pairs{};
  ASSERT_EQ(umad_get_smi_gsi_pairs(reinterpret_cast<umad_ca_pair*>(pairs.data()), 4), 2);
  EXPECT_STREQ(pairs[0].smi_name, "a");
  EXPECT_STREQ(pairs[0].gsi_name, "a");
  EXPECT_STREQ(pairs[1].smi_name, "s");
  EXPECT_STREQ(pairs[1].gsi_name, "g");

  CaPair pair{};
  auto* out = reinterpret_cast<umad_ca_pair*>(&pair);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name(nullptr, 0, out, 1), 0);
  EXPECT_STREQ(pair.smi_name, "a");
  EXPECT_EQ(pair.smi_preferred_port, 1U);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name("g", 1, out, 1), 0);
  EXPECT_STREQ(pair.smi_name, "s");
  EXPECT_EQ(pair.gsi_preferred_port, 1U);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name("none", 0, out, 1), -ENODEV);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name("a", 3, out, 1), -ENODEV);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name("a", 200, out, 1), -ENODEV);
  EXPECT_EQ(umad_get_smi_gsi_pair_by_ca_name("a", 0, nullptr, 1), -1);
}

TEST_F(UmadTest, OpensADescriptorThatCanBePolled) {
  const int fd = open();
  ASSERT_GE(fd, 0);
  EXPECT_EQ(umad_get_fd(fd), fd);
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
  EXPECT_EQ(umad_poll(fd, 1), -ETIMEDOUT);
  const int agent = umad_register(fd, 0x81, 1, 0, nullptr);
  ASSERT_EQ(agent, 0);
  door_.give(line(), head(0), test_mad(0x81, 0x81, 5));
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ready, 1, 10'000), 1);
  EXPECT_EQ(umad_poll(fd, 0), 0);
  EXPECT_EQ(umad_close_port(fd), 0);
  opened_.clear();
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
  EXPECT_EQ(door_.questions(Ask::kClose).size(), 1U);
}

TEST_F(UmadTest, NumbersAgentsFromZero) {
  const int fd = open();
  std::array<long, 2> methods{};
  methods[0] = 0b110;
  methods[1] = 1;
  EXPECT_EQ(umad_register(fd, 3, 2, 1, methods.data()), 0);
  EXPECT_EQ(umad_register(fd, 4, 1, 0, nullptr), 1);
  EXPECT_EQ(umad_unregister(fd, 0), 0);
  EXPECT_EQ(umad_unregister(fd, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  std::uint8_t oui[3] = {0x00, 0x14, 0x05};
  EXPECT_EQ(umad_register_oui(fd, 0x30, 0, oui, nullptr), 0);
  EXPECT_EQ(umad_register_oui(fd, 0x2F, 0, oui, nullptr), -EINVAL);
  EXPECT_EQ(umad_register(fd, 0, 1, 0, nullptr), -EPERM) << "the door refuses it";
  EXPECT_EQ(umad_register(fd, 3, 1, 2, nullptr), -EPERM);
  const auto asked = door_.questions(Ask::kRegister);
  EXPECT_EQ(asked[0].wish.management_class, 3);
  EXPECT_EQ(asked[0].wish.class_version, 2);
  EXPECT_EQ(asked[0].wish.rmpp_version, 1);
  EXPECT_EQ(asked[0].wish.methods[0].get(), 6U);
  EXPECT_EQ(asked[0].wish.methods[2].get(), 1U);
  EXPECT_EQ(asked[2].wish.oui.get(), 0x1405U);
  EXPECT_EQ(umad_register(-1, 3, 1, 0, nullptr), -EPERM);
}

TEST_F(UmadTest, RegistersByAttributes) {
  const int fd = open();
  umad_reg_attr attributes{};
  attributes.mgmt_class = 0x32;
  attributes.mgmt_class_version = 1;
  attributes.flags = UMAD_USER_RMPP;
  attributes.rmpp_version = 1;
  attributes.oui = 0x123456;
  attributes.method_mask[1] = std::uint64_t{1} << 63;
  std::uint32_t agent = 99;
  EXPECT_EQ(umad_register2(fd, &attributes, &agent), 0);
  EXPECT_EQ(agent, 0U);
  const auto wish = door_.questions(Ask::kRegister).back().wish;
  EXPECT_EQ(wish.user_rmpp, 1);
  EXPECT_EQ(wish.rmpp_version, 0);
  EXPECT_EQ(wish.oui.get(), 0x123456U);
  EXPECT_EQ(wish.methods[3].get(), 0x80000000U);
  attributes.flags = 4;
  EXPECT_EQ(umad_register2(fd, &attributes, &agent), EINVAL);
  EXPECT_EQ(attributes.flags, 0U);
  attributes.oui = 0;
  EXPECT_EQ(umad_register2(fd, &attributes, &agent), EINVAL);
  EXPECT_EQ(umad_register2(fd, nullptr, &agent), EINVAL);
}

TEST_F(UmadTest, TheThirtyThirdAgentHasNoRoom) {
  const int fd = open();
  for (int number = 0; number < 32; ++number) {
    ASSERT_EQ(umad_register(fd, 4, 1, 0, nullptr), number);
  }
  EXPECT_EQ(umad_register(fd, 4, 1, 0, nullptr), -EPERM);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(UmadTest, SendsAndReceivesWithTheAddress) {
  door_.echo(true);
  const int fd = open();
  umad_register(fd, 4, 1, 0, nullptr);
  UmadBuffer out(test_mad(4, 1, 77));
  umad_set_addr(out.get(), 0x1234, 1, 5, static_cast<int>(0x80010000));
  umad_set_pkey(out.get(), 3);
  ib_mad_addr route{};
  route.gid[15] = 9;
  route.flow_label = 0x12345;
  umad_set_grh(out.get(), &route);
  ASSERT_EQ(umad_send(fd, 0, out.get(), 256, 1000, 2), 0);
  const auto came = door_.wait_for_mads(1);
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].bytes, test_mad(4, 1, 77));
  EXPECT_EQ(came[0].head.timeout_ms.get(), 1000U);
  EXPECT_EQ(came[0].head.retries.get(), 2U);
  EXPECT_EQ(came[0].head.address.lid.get(), 0x1234);
  EXPECT_EQ(came[0].head.address.qkey.get(), 0x80010000U);
  EXPECT_EQ(came[0].head.address.flow_label.get(), 0x12345U);
  EXPECT_EQ(came[0].head.address.partition_index.get(), 3);
  EXPECT_EQ(came[0].head.address.gid[15], 9);

  UmadBuffer in(256);
  int length = 256;
  ASSERT_EQ(umad_recv(fd, in.get(), &length, 10'000), 0);
  EXPECT_EQ(length, 256);
  EXPECT_EQ(umad_status(in.get()), 0);
  EXPECT_EQ(in.mad(256), test_mad(4, 0x81, 77));
  EXPECT_EQ(be16toh(umad_get_mad_addr(in.get())->lid), 0x1234);
  EXPECT_EQ(umad_get_pkey(in.get()), 3);
  EXPECT_EQ(in.header().length, 256U + umad_size());
}

TEST_F(UmadTest, RefusesToSendWhatTheKernelRefuses) {
  const int fd = open();
  umad_register(fd, 4, 1, 0, nullptr);
  UmadBuffer out(test_mad(4, 1, 1, 300));
  for (const auto& [agent, length] : {std::pair{1, 256}, {-1, 256}, {0, 35}, {0, 257}, {0, -4}}) {
    EXPECT_EQ(umad_send(fd, agent, out.get(), length, 0, 0), -EIO) << agent << " " << length;
    EXPECT_EQ(errno, EINVAL);
  }
  EXPECT_EQ(umad_send(-1, 0, out.get(), 256, 0, 0), -EIO);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(UmadTest, WaitsAsLongAsItIsTold) {
  const int fd = open();
  UmadBuffer in(256);
  int length = 256;
  EXPECT_EQ(umad_recv(fd, in.get(), &length, 0), -EAGAIN);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(umad_recv(fd, in.get(), &length, 5), -ETIMEDOUT);
  EXPECT_EQ(errno, ETIMEDOUT);
  EXPECT_EQ(length, 256);
  EXPECT_EQ(umad_recv(fd, nullptr, &length, 5), -EINVAL);
  EXPECT_EQ(umad_recv(-1, in.get(), &length, 5), -EBADF);
}

TEST_F(UmadTest, AMadThatTheDoorGaveUpComesWithItsHeader) {
  const int fd = open();
  umad_register(fd, 4, 1, 0, nullptr);
  auto part = head(0);
  part.status = Le32(ETIMEDOUT);
  door_.give(line(), part, test_mad(4, 1, 5, 24));
  UmadBuffer in(256);
  int length = 256;
  EXPECT_EQ(umad_recv(fd, in.get(), &length, 10'000), 0);
  EXPECT_EQ(length, 24);
  EXPECT_EQ(umad_status(in.get()), ETIMEDOUT);
}

TEST_F(UmadTest, ALongMadWaitsForABufferThatTakesIt) {
  const int fd = open();
  umad_register(fd, 3, 2, 1, nullptr);
  for (const std::size_t size : {std::size_t{257}, umad::kMostPart, umad::kMostPart + 1,
                                 3 * umad::kMostPart, std::size_t{100'001}}) {
    const auto mad = test_mad(3, 0x92, 5, size);
    door_.give(line(), head(0), mad);
    UmadBuffer small(256);
    int length = 256;
    ASSERT_EQ(umad_poll(fd, 10'000), 0);
    EXPECT_EQ(umad_recv(fd, small.get(), &length, -1), -ENOSPC);
    EXPECT_EQ(errno, ENOSPC);
    ASSERT_EQ(length, static_cast<int>(size));
    EXPECT_EQ(small.mad(256), std::vector(mad.begin(), mad.begin() + 256));
    EXPECT_EQ(small.header().length, size + umad_size());
    length = 10;
    EXPECT_EQ(umad_recv(fd, small.get(), &length, -1), -EINVAL) << "not even a segment";
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&ready, 1, 0), 1) << "the descriptor says that it is there";
    UmadBuffer large(size);
    length = static_cast<int>(size);
    EXPECT_EQ(umad_recv(fd, large.get(), &length, 0), 0);
    EXPECT_EQ(large.mad(length), mad);
    EXPECT_EQ(umad_poll(fd, 0), -ETIMEDOUT);
  }
}

TEST_F(UmadTest, ALongMadIsSentInParts) {
  const int fd = open();
  umad_register(fd, 3, 2, 1, nullptr);
  const auto mad = test_mad(3, 0x92, 5, umad::kMostMad);
  UmadBuffer out(mad);
  EXPECT_EQ(umad_send(fd, 0, out.get(), static_cast<int>(mad.size()), 0, 0), 0);
  const auto came = door_.wait_for_mads(1);
  ASSERT_EQ(came.size(), 1U);
  EXPECT_EQ(came[0].bytes, mad);
  UmadBuffer larger(test_mad(3, 0x92, 5, umad::kMostMad + 1));
  EXPECT_EQ(umad_send(fd, 0, larger.get(), 1024 * 1024 + 1, 0, 0), -EIO);
}

TEST_F(UmadTest, SendersDoNotMixTheirParts) {
  const int fd = open();
  umad_register(fd, 3, 2, 1, nullptr);
  std::vector<std::thread> senders;
  senders.reserve(4);
  for (std::uint8_t number = 0; number < 4; ++number) {
    senders.emplace_back([&, number] {
      UmadBuffer out(test_mad(3, 0x92, number, 200'000));
      for (int i = 0; i < 5; ++i) EXPECT_EQ(umad_send(fd, 0, out.get(), 200'000, 0, 0), 0);
    });
  }
  for (std::thread& sender : senders) sender.join();
  for (const auto& mad : door_.wait_for_mads(20)) {
    const auto number = static_cast<std::uint8_t>(mad.bytes[15]);
    EXPECT_EQ(mad.bytes, test_mad(3, 0x92, number, 200'000));
  }
}

// osmtest asks for the path too, but registers no such agent.
TEST_F(UmadTest, AManagerIsOneThatAsksForThePathAndReceivesSubnetManagement) {
  std::array<char, 256> path{};
  std::array<long, 2> methods{0b10, 0};
  const int fd = open();
  EXPECT_EQ(umad_get_issm_path("paravane0", 1, path.data(), path.size()), 0);
  EXPECT_STREQ(path.data(), "/dev/null");
  EXPECT_EQ(umad_register(fd, 3, 2, 1, methods.data()), 0);
  EXPECT_EQ(umad_register(fd, 0x81, 1, 0, nullptr), 1);
  EXPECT_EQ(door_.questions(Ask::kManager).size(), 0U);
  EXPECT_EQ(umad_register(fd, 0x81, 1, 0, methods.data()), 2);
  EXPECT_EQ(umad_register(fd, 0x01, 1, 0, methods.data()), 3);
  const auto said = door_.questions(Ask::kManager);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(said[0].line.get(), line());
  EXPECT_EQ(umad_get_issm_path("none", 1, path.data(), path.size()), -EINVAL);
}

TEST_F(UmadTest, ADescriptorThatTheProgramClosedIsLeftAlone) {
  const int fd = open();
  umad_register(fd, 4, 1, 0, nullptr);
  const int other = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::dup2(other, fd), fd);
  UmadBuffer out(test_mad(4, 1, 1));
  EXPECT_EQ(umad_send(fd, 0, out.get(), 256, 0, 0), -EIO);
  EXPECT_EQ(errno, EBADF);
  int length = 256;
  EXPECT_EQ(umad_recv(fd, out.get(), &length, -1), -EBADF);
  EXPECT_EQ(umad_close_port(fd), 0);
  opened_.clear();
  EXPECT_NE(::fcntl(fd, F_GETFD), -1) << "it is another file now";
  ::close(fd);
  ::close(other);
}

TEST_F(UmadTest, OpensAsManyPortsAsThereAreLines) {
  for (int i = 0; i < 64; ++i) ASSERT_GE(open(), 0);
  EXPECT_EQ(umad_open_port("paravane0", 1), -EIO);
  EXPECT_EQ(errno, EMFILE);
  EXPECT_EQ(umad_close_port(opened_[10]), 0);
  opened_.erase(opened_.begin() + 10);
  EXPECT_GE(open(), 0);
}

TEST_F(UmadTest, HasNothingToInitialise) {
  EXPECT_EQ(umad_init(), 0);
  EXPECT_EQ(umad_done(), 0);
  EXPECT_EQ(umad_size(), 64U);
  EXPECT_EQ(umad_debug(-1), 0);
  EXPECT_EQ(umad_debug(2), 2);
  const int fd = open();
  umad_register(fd, 4, 1, 0, nullptr);
  UmadBuffer out(test_mad(4, 1, 1));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(umad_send(fd, 0, out.get(), 256, 0, 0), 0);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("agent id 0"));
  EXPECT_EQ(umad_debug(0), 0);
}

}  // namespace
}  // namespace paravane::umad_library
