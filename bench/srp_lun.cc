// paravane_srp_lun: serves a LUN by NBD, for bench/srp.py. All of the way is that of the daemon but
// its ends: a client's socket, the NBD server, the storage device, the SRP session, the service's
// adapter and the RDMA engine's local transport; then an SRP target in a VM that the program plays
// (bench/srp_target.h), whose disk is memory. The worker's thread does everything, the target's
// part too; it spins and sleeps as the daemon's does.
//
// Usage: paravane_srp_lun DIRECTORY MIB
// DIRECTORY: where the socket is made; MIB: the size of the LUN, in MiB. Prints a line with the
// socket when it listens. Ends on SIGTERM.

#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "bench/question.h"
#include "bench/srp_initiator.h"
#include "bench/srp_target.h"
#include "fabric/directory.h"
#include "testing/engine_vm.h"
#include "transport/local/local_transport.h"
#include "worker/transport_tenant.h"
#include "worker/worker.h"

namespace paravane::bench {

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "paravane_srp_lun: %s\n", what);
  std::exit(EXIT_FAILURE);
}

namespace {

constexpr verbs::AdapterId kVm{0};
constexpr fabric::MacAddress kVmMac{0x52, 0x54, 0, 0, 0, 1};

// The target's VM as a tenant: its adapter, and what its program does. Worker's thread only.
class TargetVm final : public worker::Tenant {
 public:
  TargetVm(fabric::Directory& directory, transport_local::LocalTransport& local,
           std::uint64_t disk_bytes)
      : local_(local),
        port_(directory.join(kVm, "target", kVmMac)),
        vm_(kVm, timers_, *port_, fabric::link_local_gid(kVmMac),
            disk_bytes + SrpTarget::kOtherBytes),
        target_(std::in_place, vm_, disk_bytes) {
    local_.attach(adapter_);
  }
  ~TargetVm() override {
    target_.reset();
    local_.detach(adapter_);
  }
  TargetVm(const TargetVm&) = delete;
  TargetVm& operator=(const TargetVm&) = delete;

  SrpTarget& target() { return *target_; }
  const verbs::Gid& gid() { return vm_.gid(); }

  bool has_work() const override { return target_->has_work() || adapter_.has_work(); }
  Instant next_look() override { return timers_.next_deadline(); }
  bool turn(Instant now, verbs::Budget& budget) override {
    timers_.run_due(now);
    target_->pump();
    adapter_.run(now, budget);
    return true;
  }

 private:
  transport_local::LocalTransport& local_;
  TimerQueue timers_;
  std::unique_ptr<verbs::FabricPort> port_;
  fake::EngineVm vm_;
  verbs::Adapter& adapter_ = vm_.adapter();
  std::optional<SrpTarget> target_;  // goes before the VM's adapter is detached
};

// What the worker has. Its thread only.
class Host {
 public:
  Host(worker::Worker& worker, std::string directory, std::uint64_t disk_bytes)
      : worker_(worker), target_(directory_, local_, disk_bytes) {
    worker_.schedule().add(local_turns_);
    worker_.schedule().add(target_);
    initiator_ = std::make_unique<SrpInitiator>(
        SrpInitiator::Surroundings{.worker = worker_,
                                   .directory = directory_,
                                   .local = local_,
                                   .target = target_.target(),
                                   .target_gid = target_.gid(),
                                   .sockets = std::move(directory),
                                   .ready = [](const std::filesystem::path& socket) {
                                     std::printf("%s\n", socket.c_str());
                                     std::fflush(stdout);
                                   }});
  }
  ~Host() {
    initiator_.reset();
    worker_.schedule().remove(target_);
    worker_.schedule().remove(local_turns_);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

 private:
  worker::Worker& worker_;
  transport_local::LocalTransport local_;
  fabric::Directory directory_{local_};
  worker::TransportTenant local_turns_{local_};
  TargetVm target_;
  std::unique_ptr<SrpInitiator> initiator_;
};

void on_worker(worker::Worker& worker, const std::function<void()>& act) {
  std::latch ended(1);
  demand(worker.post([&] {
    act();
    ended.count_down();
  }),
         "the worker takes no message");
  ended.wait();
}

void serve(const char* directory, std::uint64_t disk_bytes) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // of the worker, too
  auto worker = worker::Worker::start({});
  demand(worker.has_value(), "the worker does not start");
  std::unique_ptr<Host> host;
  on_worker(**worker, [&] { host = std::make_unique<Host>(**worker, directory, disk_bytes); });
  int signal = 0;
  sigwait(&ends, &signal);
  on_worker(**worker, [&] { host.reset(); });
}

}  // namespace
}  // namespace paravane::bench

int main(int argc, char** argv) {
  const std::span words(argv, static_cast<std::size_t>(argc));
  const std::uint64_t mib = words.size() == 3 ? std::strtoull(words[2], nullptr, 10) : 0;
  if (mib == 0 || mib > 1024) {
    std::fprintf(stderr, "usage: paravane_srp_lun DIRECTORY MIB, at most 1024\n");
    return 2;
  }
  paravane::bench::serve(words[1], mib << 20);
  return 0;
}
