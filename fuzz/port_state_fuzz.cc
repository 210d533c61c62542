// The state of a whole adapter that an enemy has changed: the engine before, which a guest has
// taken over, or what was kept of one that was killed. The first byte says what the adapter did
// when it was saved, the second one what becomes of it, then come changes of its records and
// descriptors. It is adopted in an engine where another VM's adapter works.
//
// Besides crashes it looks for broken promises: what is refused leaves nothing behind, what is
// adopted is saved and adopted again as the same bytes, and the other VM's messages arrive.

#include <fcntl.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "guestmem/memory_failure.h"
#include "port_engine.h"
#include "port_state_script.h"
#include "state_changes.h"
#include "testing/raw_vfio_client.h"
#include "testing/vfio_server_rig.h"

namespace paravane::fake {
namespace {

using worker::PortParcel;
using worker::VmPort;

constexpr std::array<std::uint8_t, 6> kNativeMac{0x52, 0x54, 0, 0, 0, 9};
constexpr std::uint32_t kNativeQpn = 77;

UniqueFd copy_of(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

bool is_connected_socket(int fd) {
  struct stat status{};
  int listens = 0;
  socklen_t size = sizeof listens;
  return ::fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode) &&
         ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0;
}

// The network at its other end is away.
std::unique_ptr<transport_roce::TapDoor> make_door() {
  std::array<int, 2> ends{-1, -1};
  require(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const UniqueFd other(ends[1]);
  return std::make_unique<transport_roce::TapDoor>(UniqueFd(ends[0]), false, 1500);
}

// An adapter that was saved. For each input it is as it was then, its guest's memory included, and
// with a VMM's connection of its own.
class Scene {
 public:
  explicit Scene(PortScene scene) : vm_(engine_, port_config(7, directory_.path()), 7) {
    if (scene != PortScene::kNoVmm) {
      vmm_.emplace(vm_.config().socket, [this] { engine_.turn({&vm_.port()}); });
      require(vmm_->negotiate().has_value());
      vm_.plug();
      vmm_->set_bus_master(true);
    }
    if (scene != PortScene::kNoVmm && scene != PortScene::kNoDriver) use(scene);
    if (scene == PortScene::kKept) {
      vm_.port().keep();
      parcel_ = std::move(engine_.kept().last());
    } else {
      auto saved = vm_.port().save();
      require(saved.has_value());
      parcel_ = std::move(*saved);
    }
    for (const UniqueFd& fd : parcel_.descriptors) contents_.push_back(read_file(fd.get()));
    for (const UniqueFd& fd : parcel_.descriptors) {
      int listens = 0;
      socklen_t size = sizeof listens;
      if (::getsockopt(fd.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 1) {
        listener_ = copy_of(fd.get());
      }
    }
    std::filesystem::create_hard_link(vm_.config().socket, other_name());
  }

  const worker::VmPortConfig& config() const { return vm_.config(); }
  verbs::AdapterId id() const { return vm_.id(); }
  // `client`: its VMM, if it has one.
  PortParcel parcel(std::optional<RawVfioClient>& client) {
    if (!std::filesystem::exists(config().socket)) {
      std::filesystem::create_hard_link(other_name(), config().socket);
    }
    PortParcel parcel{.adapter = parcel_.adapter, .state = parcel_.state, .descriptors = {}};
    for (std::size_t i = 0; i < parcel_.descriptors.size(); ++i) {
      const int fd = parcel_.descriptors[i].get();
      write_file(fd, contents_[i]);
      if (!is_connected_socket(fd)) {
        parcel.descriptors.push_back(copy_of(fd));
        continue;
      }
      client.emplace(config().socket, [] {});
      require(client->connected());
      parcel.descriptors.emplace_back(
          ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      require(static_cast<bool>(parcel.descriptors.back()));
    }
    return parcel;
  }

 private:
  std::filesystem::path other_name() const { return config().socket.string() + ".saved"; }

  void use(PortScene scene) {
    if (scene == PortScene::kNative) vm_.port().set_door(make_door());
    vm_.boot();
    FakeGuest& guest = vm_.guest();
    ends_.push_back(std::make_unique<FakeEnd>(guest));
    ends_.push_back(std::make_unique<FakeEnd>(guest, EndOptions{.separate_receive_cq = true}));
    ends_.push_back(std::make_unique<FakeEnd>(guest, EndOptions{.kernel = true}));
    FakeEnd& a = *ends_[0];
    FakeEnd& b = *ends_[1];
    FakeSrq& shared = guest.create_srq({.pd = &a.pd()});
    guest.create_qp({.pd = &a.pd(), .send_cq = &a.cq(), .receive_cq = &a.cq(), .srq = &shared});
    guest.register_memory(b.pd(), 3 * kPage, {.access = kLocalWrite});
    FakeQp& datagrams = guest.create_qp(
        {.pd = &b.pd(), .send_cq = &b.cq(), .receive_cq = &b.cq(), .type = kTypeUd});
    require(guest.start_datagrams(datagrams, 5));
    if (scene == PortScene::kNative) {
      GidBytes gid = gid_of_mac(kNativeMac);
      require(guest.connect(a.qp(), gid, kNativeQpn,
                            {.path_mtu = 1, .timeout = 8, .retry_count = 1, .dmac = kNativeMac}));
      require(a.send(1, 0, 600));
    } else {
      require(connect(a, b));
      require(b.receive(1) && a.send(2, 0, 100));
    }
    for (int i = 0; i < 20; ++i) engine_.turn({&vm_.port()});
    if (scene != PortScene::kBusy) return;
    for (std::uint64_t i = 0; i < 3; ++i) {
      require(a.send(10 + i, 0, 4000));
      require(b.write(20 + i, 0, 4000, a.buffer()));
      require(b.read(30 + i, 0, 4000, a.buffer()));
    }
    for (int i = 0; i < 2; ++i) engine_.turn({&vm_.port()});
    require(a.send(40, 0, 4000));
  }

  // Nothing of what is no file.
  static std::vector<std::byte> read_file(int fd) {
    struct stat status{};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    require(::pread(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
  static void write_file(int fd, const std::vector<std::byte>& bytes) {
    if (bytes.empty()) return;
    require(::pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    ::lseek(fd, 0, SEEK_SET);
  }

  PortEngine engine_;
  TempDir directory_;
  PortVm vm_;
  std::optional<RawVfioClient> vmm_;
  std::vector<std::unique_ptr<FakeEnd>> ends_;
  PortParcel parcel_;
  std::vector<std::vector<std::byte>> contents_;  // by descriptor
  UniqueFd listener_;
};

// The engine that adopts, with a VM that does everything right.
class Host {
 public:
  Host() : vm_(engine_, port_config(1, directory_.path()), 1) {
    vm_.plug();
    vm_.boot();
    a_.emplace(vm_.guest());
    b_.emplace(vm_.guest());
    require(connect(*a_, *b_));
    talk(nullptr);
  }

  PortEngine& engine() { return engine_; }
  void turn(VmPort* guest_of_honour) { engine_.turn({guest_of_honour, &vm_.port()}); }

  // Its message arrives, whole and once.
  void talk(VmPort* beside) {
    const std::uint32_t id = ++talks_;
    for (std::size_t i = 0; i < kBytes; ++i) *a_->buffer().at(i) = FakeMr::pattern(id, i);
    require(b_->receive(id, 8192, kBytes) && a_->send(id, 0, kBytes));
    pvrdma_cqe received{};
    pvrdma_cqe sent{};
    await(beside, b_->cq(), received);
    await(beside, a_->cq(), sent);
    require(received.status == PVRDMA_WC_SUCCESS && sent.status == PVRDMA_WC_SUCCESS);
    require(received.wr_id == id && received.byte_len == kBytes && sent.wr_id == id);
    require(!a_->cq().take(sent) && !b_->cq().take(received));
    vm_.guest().handle_interrupts();
    for (std::size_t i = 0; i < kBytes; ++i) {
      require(*b_->buffer().at(8192 + i) == FakeMr::pattern(id, i));
    }
  }

  struct Inventory {
    std::size_t descriptors = 0;
    std::size_t gids = 0;
    device::DeviceObjects objects;  // of the other VM
  };
  Inventory inventory() {
    return {.descriptors = open_descriptors(),
            .gids = engine_.directory().gid_count(),
            .objects = vm_.port().device().objects()};
  }

 private:
  static constexpr std::uint32_t kBytes = 3000;
  static constexpr int kPatience = 100;  // turns

  void await(VmPort* beside, FakeCq& cq, pvrdma_cqe& completion) {
    for (int turns = 0; !cq.take(completion); ++turns) {
      require(turns < kPatience);
      turn(beside);
    }
  }

  PortEngine engine_;
  TempDir directory_;
  PortVm vm_;
  std::optional<FakeEnd> a_;
  std::optional<FakeEnd> b_;
  std::uint32_t talks_ = 0;
};

// What has been adopted works, as if nothing were.
void play(Host& host, VmPort& port, std::optional<RawVfioClient>& client, std::uint8_t life) {
  if ((life & kHasDoor) != 0) port.set_door(make_door());
  for (int i = 0; i < 10; ++i) host.turn(&port);
  if (client && (life & kSpeaks) != 0) {
    const vfio_user::RegionAccess access{.offset = {}, .region = Le32(1), .count = Le32(4)};
    client->send(vfio_user::Command::kRegionRead, RawVfioClient::bytes_of(access));
    client->send(vfio_user::Command::kReset, {});
  }
  if (client && (life & kHangsUp) != 0) client->hang_up();
  for (int i = 0; i < 10; ++i) host.turn(&port);
  host.talk(&port);
  host.engine().pass(std::chrono::seconds(7));
  for (int i = 0; i < 10; ++i) host.turn(&port);
  if (client && client->connected()) {
    std::array<std::byte, 65536> ignored;
    while (::recv(client->socket(), ignored.data(), ignored.size(), MSG_DONTWAIT) > 0) {
    }
  }
}

void end(Host& host, std::unique_ptr<VmPort> port, std::uint8_t life) {
  if ((life & kLeaves) == 0) return port->abandon();
  port->leave();
  for (int turns = 0; !port->left(); ++turns) {
    require(turns < 10'000);
    host.turn(port.get());
  }
}

void run(Host& host, Scene& scene, FuzzBytes script) {
  const std::uint8_t life = script.u8();
  host.engine().kept().last() = {};
  const auto at_rest = host.inventory();
  {
    std::optional<RawVfioClient> client;
    PortParcel parcel = scene.parcel(client);
    parcel.cut_off = (life & kIsCutOff) != 0;
    StateChanges(script, parcel.state, parcel.descriptors, client ? client->socket() : -1).make();
    const auto network = host.engine().network();
    auto first = VmPort::adopt(scene.config(), scene.id(), network, std::move(parcel));
    if (first) {
      auto again = (*first)->save();
      require(again.has_value());
      const auto state = again->state;
      (*first)->abandon();
      first->reset();
      auto second = VmPort::adopt(scene.config(), scene.id(), network, std::move(*again));
      require(second.has_value());
      require((*second)->save()->state == state);
      play(host, **second, client, life);
      end(host, std::move(*second), life);
    }
  }
  host.engine().kept().last() = {};
  host.talk(nullptr);
  const auto left = host.inventory();
  require(left.descriptors == at_rest.descriptors);
  require(left.gids == at_rest.gids);
  require(std::memcmp(&left.objects, &at_rest.objects, sizeof left.objects) == 0);
}

}  // namespace
}  // namespace paravane::fake

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using paravane::fake::Host;
  using paravane::fake::PortScene;
  using paravane::fake::Scene;
  static const bool survives_failures = ::signal(SIGPIPE, SIG_IGN) != SIG_ERR &&
                                        paravane::install_memory_failure_handler().has_value();
  paravane::fake::require(survives_failures);
  static const bool wants_log = std::getenv("PORT_STATE_FUZZ_LOG") != nullptr;
  spdlog::set_level(wants_log ? spdlog::level::debug : spdlog::level::off);
  static constexpr std::size_t kScenes = std::to_underlying(PortScene::kCount);
  static Host host;
  static std::array<std::unique_ptr<Scene>, kScenes> scenes;
  paravane::fake::FuzzBytes script(data, size);
  const std::size_t which = script.below(kScenes);
  if (!scenes[which]) scenes[which] = std::make_unique<Scene>(static_cast<PortScene>(which));
  paravane::fake::run(host, *scenes[which], script);
  return 0;
}
