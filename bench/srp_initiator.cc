#include "bench/srp_initiator.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/question.h"
#include "fabric/directory.h"

namespace paravane::bench {
namespace {

// The numbers of storage/storage.cc.
constexpr host_verbs::ServiceMemory::Size kMemory{.payloads = 56, .messages = 10240};
constexpr std::size_t kMostTimers = 256;
constexpr nbd::TurnBudget kClients{.bytes = std::int64_t{2} << 20, .operations = 256};

constexpr verbs::AdapterId kAdapter{50};
constexpr fabric::MacAddress kMac{0x00, 0x50, 0x56, 0xA2, 0xB3, 0x01};
constexpr std::uint32_t kVmhba = 32;
constexpr std::uint64_t kPortGuid = 0x0250'5600'01A2'B301;
constexpr std::uint64_t kLinkLocal = 0xFE80'0000'0000'0000;
constexpr std::uint32_t kPsn = 0x12'3456;

template <typename T>
T taken(Result<T> result, const char* what) {
  demand(result.has_value(), what);
  return std::move(result).value();
}

}  // namespace

SrpInitiator::SrpInitiator(Surroundings surroundings)
    : surroundings_(std::move(surroundings)),
      memory_(taken(host_verbs::ServiceMemory::make(kMemory), "the service has no memory")),
      loop_(taken(EventLoop::create(), "there is no event loop")),
      adapter_(taken(
          host_verbs::ServiceAdapter::make(kAdapter, {}, *memory_, timers_,
                                           surroundings_.directory.join(kAdapter, "vmhba32", kMac),
                                           {.own = fabric::link_local_gid(kMac), .ipv4 = {}}),
          "the service has no adapter")),
      devices_(std::make_unique<storage::DeviceTable>(storage::DeviceTable::Surroundings{
          .memory = *memory_,
          .timers = timers_,
          .loop = *loop_,
          .clock = surroundings_.worker.schedule().turn_clock(),
          .sockets = {.directory = surroundings_.sockets, .access = {.mode = 0600, .group = {}}},
          .wake = [this] { is_woken_ = true; },
          .look_again = [](const storage::UnitPath::Place&) {},
          .tell =
              [](const storage::DeviceTable::DeviceNews& news) {
                if (news.news.what == storage::Device::News::What::kFailing) {
                  std::fprintf(stderr, "paravane_srp_lun: %s\n", news.news.why.c_str());
                }
              }})),
      target_(make_target()) {
  surroundings_.local.attach(adapter_->adapter());
  demand(surroundings_.worker.loop()
             .watch(loop_->fd(), EPOLLIN, [this](std::uint32_t) { is_readable_ = true; })
             .has_value(),
         "the worker does not watch the clients");
  surroundings_.worker.schedule().add(*this);
}

SrpInitiator::~SrpInitiator() {
  surroundings_.worker.schedule().remove(*this);
  if (target_->login() != nullptr) target_->login()->end("the program ends", now_);
  devices_->pump(now_);
  devices_->remove_target(kVmhba, 0);
  target_.reset();
  devices_.reset();
  surroundings_.worker.loop().unwatch(loop_->fd());
  surroundings_.local.detach(adapter_->adapter());
}

std::unique_ptr<storage::Target> SrpInitiator::make_target() {
  storage::Target::Facts facts{.number = 0,
                               .address = {.gid = surroundings_.target_gid,
                                           .service = SrpTarget::kService,
                                           .id_ext = 7,
                                           .ioc_guid = 9},
                               .description = "bench",
                               .is_named = true};
  storage::Target::Listener listener{
      .units_found =
          [this](storage::Target& target, const std::vector<storage::UnitFacts>& units) {
            devices_->set_units(
                {.vmhba = kVmhba, .target = 0, .vmhba_name = "vmhba32", .tasks = target.login()},
                units);
          },
      .units_lost = [this](storage::Target&,
                           const std::string& why) { devices_->lose_target(kVmhba, 0, why); }};
  return std::make_unique<storage::Target>(
      std::move(facts),
      storage::TargetLogin::Surroundings{.adapter = *adapter_,
                                         .connections = connections_,
                                         .timers = timers_,
                                         .local_guid = kPortGuid,
                                         .initiator = srp::port_id(kLinkLocal, kPortGuid),
                                         .wake = [this] { is_woken_ = true; },
                                         .look_again = {}},
      [] { return kPsn; }, std::move(listener));
}

// ---- Tenant ----

bool SrpInitiator::vmhba_has_work() const {
  return adapter_->adapter().has_work() || !answers_.empty() ||
         (target_->login() != nullptr && target_->login()->has_messages());
}

bool SrpInitiator::has_work() const {
  return is_woken_ || is_readable_ || devices_->has_work() || vmhba_has_work();
}

Instant SrpInitiator::next_look() {
  return std::min({timers_.next_deadline(), devices_->next_look(), connections_.next_deadline()});
}

bool SrpInitiator::turn(Instant now, verbs::Budget& budget) {
  now_ = now;
  is_woken_ = false;
  if (std::exchange(is_readable_, false)) {
    demand(loop_->poll(Duration::zero()).has_value(), "the clients' event loop failed");
    devices_->look_at_clients();
  }
  timers_.run_due(now, kMostTimers);
  pump_vmhba(now, budget);
  devices_->pump(now);
  nbd::TurnBudget clients = kClients;
  devices_->serve(now, clients);
  budget.bytes -= kClients.bytes - clients.bytes;
  budget.operations -= kClients.operations - clients.operations;
  devices_->pump(now);
  if (is_woken_ || vmhba_has_work()) pump_vmhba(now, budget);
  tell_ready();
  return true;
}

void SrpInitiator::pump_vmhba(Instant now, verbs::Budget& budget) {
  adapter_->adapter().run(now, budget);
  for (; !answers_.empty(); answers_.pop_front())
    connections_.receive(surroundings_.target_gid.raw, answers_.front(), now);
  if (connections_.next_deadline() <= now) connections_.advance(now);
  target_->pump(now);
  adapter_->adapter().run(now, budget);
}

void SrpInitiator::tell_ready() {
  if (is_ready_ || devices_->devices().empty()) return;
  is_ready_ = true;
  const storage::ServedDevice& served = *devices_->devices().begin()->second;
  demand(served.problem().empty(), "the device is not served");
  surroundings_.ready(served.socket());
}

// ---- Datagrams and connections ----

bool SrpInitiator::send(const wire::infiniband::Gid& /*to*/,
                        std::span<const std::byte, wire::infiniband::kMadBytes> mad) {
  Mad copy{};
  std::ranges::copy(mad, copy.begin());
  if (const auto answer = surroundings_.target.receive(adapter_->gid(), copy))
    answers_.push_back(*answer);
  return true;
}

storage::TargetLogin* SrpInitiator::login(connection::ConnectionId id) {
  storage::TargetLogin* known = target_->login();
  return known != nullptr && known->connection() == id ? known : nullptr;
}

void SrpInitiator::on_reply(connection::ConnectionId id, const connection::Reply& reply) {
  if (auto* known = login(id)) known->on_reply(reply, now_);
}

void SrpInitiator::on_rejected(connection::ConnectionId id,
                               const connection::Rejection& rejection) {
  if (auto* known = login(id)) known->on_rejected(rejection);
}

void SrpInitiator::on_timed_out(connection::ConnectionId id) {
  if (auto* known = login(id)) known->on_timed_out();
}

void SrpInitiator::on_disconnected(connection::ConnectionId id, connection::Ending /*ending*/) {
  if (auto* known = login(id)) known->on_disconnected(now_);
}

}  // namespace paravane::bench
