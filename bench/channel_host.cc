#include "bench/channel_host.h"

#include <latch>
#include <string>
#include <utility>

#include "bench/question.h"
#include "bench/traffic.h"

namespace paravane::bench {
namespace {

constexpr std::uint64_t kRamBytes = std::uint64_t{512} << 20;
constexpr auto kNeverSleep = std::chrono::hours(24 * 365 * 100);
// As the daemon: this long after a message, sockets are looked at in every round.
constexpr Duration kWatchSockets = std::chrono::microseconds(200);

}  // namespace

ChannelHost::Tenant::Tenant(std::uint32_t index, Network& network)
    : vm(index, kRamBytes, network) {}

bool ChannelHost::Tenant::has_work() const {
  return vm.has_work() || (program != nullptr && program->ready());
}

bool ChannelHost::Tenant::turn(Instant now, verbs::Budget& budget) {
  const bool steps = program != nullptr && program->ready();
  if (steps) program->step();
  return vm.turn(now, budget) || steps;
}

ChannelHost::ChannelHost(unsigned side, unsigned core, worker::SpinMode spin) : side_(side) {
  worker::WorkerConfig config;
  config.spin = spin;
  if (spin == worker::SpinMode::kAlways) config.spin_for = kNeverSleep;
  config.cpu = core;
  auto worker = worker::Worker::start(config);
  demand(worker.has_value(), "the worker does not start");
  worker_ = std::move(*worker);
  on_worker([this, spin] {
    const transport_tcp::LocalOwners& owners = *this;
    network_ = std::make_unique<Network>();
    tcp_ = std::make_unique<transport_tcp::TcpTransport>(
        side_ + 1, worker_->loop(), owners, [this](const transport_tcp::LostChannel& lost) {
          demand(leaving_, ("the channel was lost: " + lost.reason).c_str());
        });
    network_->tcp = tcp_.get();
    local_turns_ = std::make_unique<worker::TransportTenant>(network_->local);
    const bool sleeps = spin == worker::SpinMode::kNever;
    tcp_turns_ = std::make_unique<worker::ChannelTenant>(*tcp_, worker_->schedule().turn_clock(),
                                                         sleeps ? Duration::zero() : kWatchSockets);
    vm_ = std::make_unique<Tenant>(side_, *network_);
    worker_->schedule().add(*local_turns_);
    worker_->schedule().add(*tcp_turns_);
    worker_->schedule().add(*vm_);
  });
}

ChannelHost::~ChannelHost() {
  on_worker([this] {
    worker_->schedule().remove(*vm_);
    worker_->schedule().remove(*tcp_turns_);
    worker_->schedule().remove(*local_turns_);
    vm_.reset();
    tcp_turns_.reset();
    local_turns_.reset();
    tcp_.reset();
    network_.reset();
  });
}

void ChannelHost::on_worker(const std::function<void()>& work) {
  std::latch ended(1);
  const bool posted = worker_->post([&work, &ended] {
    work();
    ended.count_down();
  });
  demand(posted, "the worker takes no message");
  ended.wait();
}

void ChannelHost::join(const verbs::Gid& peer_gid, transport_tcp::ChannelConfig config,
                       std::unique_ptr<transport_tcp::Stream> stream) {
  config.host = peer();
  on_worker([&] {
    network_->directory.set_host(
        peer(), "peer", *tcp_,
        {{.segment = {}, .gid = peer_gid, .type = verbs::GidType::kRoceV1},
         {.segment = {}, .gid = peer_gid, .type = verbs::GidType::kRoceV2}});
    demand(tcp_->open(config, std::move(stream), std::chrono::steady_clock::now()).has_value(),
           "a channel cannot be opened");
  });
}

void ChannelHost::expect_end() {
  on_worker([this] { leaving_ = true; });
}

bool ChannelHost::is_joined() {
  bool joined = false;
  on_worker([&] { joined = tcp_->channel_to(peer()) != nullptr; });
  return joined;
}

double ChannelHost::cpu_seconds() {
  double seconds = 0;
  on_worker([&seconds] { seconds = thread_cpu_seconds(); });
  return seconds;
}

std::uint64_t ChannelHost::staged_bytes() {
  std::uint64_t bytes = 0;
  on_worker([&] { bytes = tcp_->channel_to(peer())->counters().staged_bytes.value(); });
  return bytes;
}

void ChannelHost::run(GuestProgram* program) {
  on_worker([this, program] { vm_->program = program; });
}

}  // namespace paravane::bench
