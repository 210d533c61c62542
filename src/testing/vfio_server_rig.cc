#include "testing/vfio_server_rig.h"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "state/descriptors.h"
#include "state/reader.h"
#include "state/writer.h"
#include "testing/copied_descriptors.h"

namespace paravane {

namespace {

// Of what is saved, in the order in which it is loaded.
constexpr state::Tag kMemory{1};
constexpr state::Tag kInterrupts{2};
constexpr state::Tag kServer{3};

}  // namespace

VfioServerRig::VfioServerRig(Options options)
    : VfioServerRig(options, std::make_shared<const TempDir>(), Instant(std::chrono::hours(1))) {
  start_server();
}

VfioServerRig::VfioServerRig(const Options& options, std::shared_ptr<const TempDir> directory,
                             Instant now)
    : options_(options),
      directory_(std::move(directory)),
      socket_path_(directory_->path() / "vm.sock"),
      clock_(now),
      loop_(std::move(EventLoop::create().value())),
      device_(options.device) {
  interrupts_.signal_through(&event_signal_);
}

vfio_user::ServerConfig VfioServerRig::config() {
  vfio_user::ServerConfig config{.name = "vm1", .socket_path = socket_path_};
  config.messages_per_turn = options_.messages_per_turn;
  if (options_.keeps && !exchange_) exchange_.emplace(vfio_user::Exchange::make().value());
  if (exchange_) config.keeping = {.exchange = &*exchange_, .keeper = this};
  return config;
}

void VfioServerRig::keep_attachment() {
  if (keeper_) keeper_(save(Saved::kWhatIsKept));
}

std::unique_ptr<VfioServerRig> VfioServerRig::make_heir(const VfioServerRig& of) {
  return std::unique_ptr<VfioServerRig>(
      new VfioServerRig(of.options_, of.directory_, of.clock_.now));
}

VfioServerRig::State VfioServerRig::save() const {
  return save(Saved::kWhole);
}

VfioServerRig::State VfioServerRig::save(Saved what) const {
  state::Writer out;
  state::Descriptors descriptors;
  if (server_ && server_->attached()) {
    {
      const state::Writer::Group group(out, kMemory);
      memory_.save(out, descriptors);
    }
    const state::Writer::Group group(out, kInterrupts);
    interrupts_.save(out, descriptors);
  }
  {
    const state::Writer::Group group(out, kServer);
    if (what == Saved::kWhole) {
      server_->save(out, descriptors);
    } else if (server_) {
      server_->keep(out, descriptors);
    }
  }
  State state{.bytes = out.take(), .descriptors = copied(descriptors)};
  if (what == Saved::kWhatIsKept) {
    state.exchange.reset(::fcntl(exchange_->fd(), F_DUPFD_CLOEXEC, 0));
  }
  return state;
}

Status VfioServerRig::load(State state) {
  if (state.exchange) {
    auto exchange = vfio_user::Exchange::take_over(std::move(state.exchange));
    if (!exchange) return std::unexpected(exchange.error());
    exchange_.emplace(std::move(*exchange));
  }
  state::Descriptors descriptors(std::move(state.descriptors));
  state::Loading loading;
  state::Reader in(state.bytes, loading);
  if (auto memory = in.group_if(kMemory)) memory_.load(*memory, descriptors);
  if (auto interrupts = in.group_if(kInterrupts)) interrupts_.load(*interrupts, descriptors);
  state::Reader server = in.group(kServer);
  auto adopted = vfio_user::Server::adopt(config(), *loop_, {timers_, clock_}, device_, memory_,
                                          interrupts_, server, descriptors);
  in.end();
  if (!adopted) return std::unexpected(adopted.error());
  server_ = std::move(*adopted);
  if (!loading.good()) server_->abandon();
  return loading.status();
}

std::unique_ptr<VfioServerRig> VfioServerRig::hand_over() {
  std::unique_ptr<VfioServerRig> heir = make_heir(*this);
  heir->device_.take_over(device_);
  if (const Status loaded = heir->load(save()); !loaded) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    std::abort();
  }
  server_->abandon();
  server_.reset();
  return heir;
}

void VfioServerRig::start_server() {
  auto server =
      vfio_user::Server::listen(config(), *loop_, {timers_, clock_}, device_, memory_, interrupts_);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    std::abort();
  }
  server_ = std::move(*server);
}

void VfioServerRig::step() {
  clock_.now += std::chrono::microseconds(1);
  if (!loop_->poll(Duration(0))) std::abort();
  timers_.run_due(clock_.now);
}

RawVfioClient VfioServerRig::connect() {
  return RawVfioClient(socket_path_, [this] { step(); });
}

RawVfioClient VfioServerRig::attach() {
  RawVfioClient client = connect();
  if (!client.negotiate()) std::abort();
  return client;
}

}  // namespace paravane
