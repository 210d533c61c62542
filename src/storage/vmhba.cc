#include "storage/vmhba.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "wire/infiniband/mad.h"

namespace paravane::storage {
namespace {

// After GIDs of the network have changed.
constexpr Duration kFirstLook = std::chrono::seconds(1);
constexpr Duration kSecondLook = std::chrono::seconds(6);
constexpr Duration kThirdLook = std::chrono::seconds(20);
// Likewise, until logins are tried whose targets have left the network.
constexpr Duration kMissingLook = std::chrono::milliseconds(500);
constexpr std::size_t kMostOfPort = 4;      // targets that were found at one port
constexpr std::size_t kMostDatagrams = 32;  // of a turn
// None of the directory's: targets are looked for anew.
constexpr std::uint64_t kUnseenEpoch = ~std::uint64_t{0};

// The first vmhba of a port has the port's GUID; others differ in the highest digit, which leaves
// the bit of locally administered GUIDs alone.
std::uint64_t guid_of(const VmhbaOrder& order) {
  return order.port_guid ^ (std::uint64_t{order.index} << 60);
}

verbs::Gid gid_of(const VmhbaOrder& order) {
  verbs::Gid gid;
  gid.raw[0] = 0xFE;
  gid.raw[1] = 0x80;
  const std::uint64_t guid = guid_of(order);
  for (std::size_t i = 0; i < 8; ++i) {
    gid.raw[8 + i] = static_cast<std::uint8_t>(guid >> (56 - 8 * i));
  }
  return gid;
}

std::optional<verbs::Gid> ipv4_gid_of(const VmhbaOrder& order) {
  if (!order.ipv4) return std::nullopt;
  return verbs::Gid{neighbour::address_of(order.ipv4->address)};
}

std::uint64_t random_number() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

}  // namespace

fabric::MacAddress vmhba_mac(std::uint64_t port_guid, std::uint32_t index) {
  const auto& raw = gid_of({.port_guid = port_guid, .index = index}).raw;
  return {static_cast<std::uint8_t>(raw[8] ^ 0x02), raw[9], raw[10], raw[13], raw[14], raw[15]};
}

Result<std::unique_ptr<Vmhba>> Vmhba::make(const VmhbaOrder& order, worker::PortTable& ports,
                                           host_verbs::ServiceMemory& memory, TimerQueue& timers,
                                           Listener listener, Instant now) {
  std::unique_ptr<Vmhba> made(new Vmhba(order, ports, timers, std::move(listener)));
  if (Status begun = made->begin(memory, now); !begun) return std::unexpected(begun.error());
  return made;
}

Vmhba::Vmhba(VmhbaOrder order, worker::PortTable& ports, TimerQueue& timers, Listener listener)
    : order_(std::move(order)),
      ports_(ports),
      timers_(timers),
      listener_(std::move(listener)),
      resolver_({.mac = vmhba_mac(order_.port_guid, order_.index),
                 .link_local = gid_of(order_).raw,
                 .ipv4 = order_.ipv4,
                 .gateway = order_.gateway}) {}

Status Vmhba::begin(host_verbs::ServiceMemory& memory, Instant now) {
  const verbs::Gid gid = gid_of(order_);
  auto place = ports_.join_service({.vm = order_.name, .number = 0}, gid, order_.segment);
  if (!place) return std::unexpected(place.error());
  id_ = place->id;
  has_joined_ = true;
  auto adapter = host_verbs::ServiceAdapter::make(
      id_, {.queue_pairs_after = static_cast<std::uint32_t>(random_number())}, memory, timers_,
      std::move(place->fabric), {.own = gid, .ipv4 = ipv4_gid_of(order_)});
  if (!adapter) return std::unexpected(adapter.error());
  adapter_ = std::move(*adapter);
  take_ipv4();
  adapter_->use(this);
  ports_.attach_service(adapter_->adapter(), &resolver_);
  is_attached_ = true;
  auto datagrams = host_verbs::DatagramEndpoint::make(*adapter_, now);
  if (!datagrams) return std::unexpected(datagrams.error());
  datagrams_ = std::move(*datagrams);
  connection::DatagramPort& port = *this;
  connection::ConnectionListener& listener = *this;
  connection::DiscoveryListener& search = *this;
  connections_ =
      std::make_unique<connection::CommunicationManager>(port, listener, random_number());
  discovery_ = std::make_unique<connection::DeviceDiscovery>(port, search, random_number());
  ports_.directory().set_link(id_, order_.is_up);
  if (order_.is_up) begin_up(now);
  return {};
}

Vmhba::~Vmhba() {
  targets_.clear();
  discovery_.reset();
  connections_.reset();
  datagrams_.reset();
  if (is_attached_) ports_.detach_service(adapter_->adapter());
  adapter_.reset();
  if (has_joined_) ports_.forget_service(id_);
}

srp::PortId Vmhba::initiator() const {
  srp::PortId id{};
  std::ranges::copy(adapter_->gid().raw, id.begin());
  return id;
}

bool Vmhba::can_change_to(const VmhbaOrder& order) const {
  return order.name == order_.name && order.port_guid == order_.port_guid &&
         order.index == order_.index && order.segment == order_.segment &&
         order.ipv4 == order_.ipv4 && order.gateway == order_.gateway;
}

void Vmhba::change(const VmhbaOrder& order, Instant now) {
  const bool was_up = order_.is_up;
  order_ = order;
  ports_.directory().set_link(id_, order_.is_up);
  if (was_up && !order_.is_up) end_up(now);
  if (!was_up && order_.is_up) {
    begin_up(now);
  } else {
    take_named(now);
  }
  is_woken_ = true;
  listener_.wake();
}

void Vmhba::begin_up(Instant now) {
  take_named(now);
  for (auto& [number, target] : targets_) target->set_link(true, now);
  network_epoch_ = ports_.directory().epoch();
  begin_discovery(now);
  discoveries_ = {now + kThirdLook, now + kSecondLook, now + kFirstLook};
  is_woken_ = true;
}

void Vmhba::end_up(Instant now) {
  discoveries_.clear();
  missing_look_ = kNever;
  discovery_->stop();
  for (auto& [number, target] : targets_) target->set_link(false, now);
}

// ---- Targets ----

void Vmhba::take_named(Instant now) {
  for (auto known = targets_.begin(); known != targets_.end();) {
    Target& target = *known->second;
    const bool is_named =
        std::ranges::find(order_.named, target.facts().address) != order_.named.end();
    // One that was found goes for one that is named, whose way is the operator's, and comes again
    // once that is named no more.
    const bool is_replaced =
        std::ranges::any_of(order_.named, [&target](const TargetAddress& address) {
          return address.is_same_target(target.facts().address);
        });
    if (is_named || (!target.facts().is_named && !is_replaced)) {
      target.set_named(is_named);
      ++known;
      continue;
    }
    if (!is_replaced) network_epoch_ = kUnseenEpoch;
    target.set_link(false, now);
    listener_.target_gone(*this, known->first);
    known = targets_.erase(known);
  }
  add_named();
}

void Vmhba::add_named() {
  problem_.clear();  // it is found again where it remains
  for (const TargetAddress& address : order_.named) add_target(address, "", /*is_named=*/true);
}

// A target that answers with many made-up services has no more than a few, and leaves room for
// others: of those that were found, one that is not logged in goes for one of another port, or for
// one that is named.
bool Vmhba::make_room(const TargetAddress& address, bool is_named) {
  std::size_t of_port = 0;
  auto victim = targets_.end();
  for (auto known = targets_.begin(); known != targets_.end(); ++known) {
    const Target& target = *known->second;
    if (target.facts().is_named) continue;
    const bool is_of_port = target.facts().address.gid == address.gid;
    if (is_of_port) ++of_port;
    const bool is_idle = target.state() != model::TargetState::kLoggedIn;
    if (is_idle && (is_named || !is_of_port)) victim = known;
  }
  if (!is_named && of_port >= kMostOfPort) return false;
  if (targets_.size() < order_.most_targets) return true;
  if (victim == targets_.end()) return false;
  victim->second->set_link(false, now_);
  listener_.target_gone(*this, victim->first);
  targets_.erase(victim);
  return true;
}

bool Vmhba::add_target(const TargetAddress& address, const std::string& description,
                       bool is_named) {
  for (auto& [number, target] : targets_) {
    if (!target->facts().address.is_same_target(address)) continue;
    if (!description.empty()) target->describe(description);
    if (is_named) {
      target->set_named(true);
    } else {
      target->hear(now_);
    }
    return true;
  }
  if (!make_room(address, is_named)) {
    problem_ = fmt::format(
        "more targets than max_srp_targets={} allows: the others are left out; raise it with: "
        "paravane infiniband module set ib_srp max_srp_targets=N, then: paravane infiniband "
        "restart",
        order_.most_targets);
    return false;
  }
  const std::uint32_t number = next_target_++;
  targets_.emplace(
      number, std::make_unique<Target>(
                  Target::Facts{.number = number,
                                .address = address,
                                .description = description,
                                .is_named = is_named},
                  TargetLogin::Surroundings{.adapter = *adapter_,
                                            .connections = *connections_,
                                            .timers = timers_,
                                            .local_guid = guid_of(order_),
                                            .initiator = initiator(),
                                            .wake =
                                                [this] {
                                                  is_woken_ = true;
                                                  listener_.wake();
                                                },
                                            .look_again = {}},
                  [] { return static_cast<std::uint32_t>(random_number() & 0xFF'FFFF); },
                  Target::Listener{.units_found =
                                       [this](Target& target, const std::vector<UnitFacts>& units) {
                                         listener_.units_found(*this, target, units);
                                       },
                                   .units_lost =
                                       [this](Target& target, const std::string& why) {
                                         listener_.units_lost(*this, target, why);
                                       }}));
  if (!order_.is_up) targets_.at(number)->set_link(false, now_);
  is_woken_ = true;
  return true;
}

void Vmhba::on_service(const connection::SrpService& service) {
  verbs::Gid gid;
  gid.raw = service.gid;
  add_target({.gid = gid,
              .service = service.service,
              .id_ext = service.id_extension,
              .ioc_guid = service.controller_guid,
              .io_class = service.io_class},
             service.controller, /*is_named=*/false);
}

void Vmhba::rescan(Instant now) {
  if (!order_.is_up) return;
  begin_discovery(now);
  for (auto& [number, target] : targets_) target->rescan(now);
  is_woken_ = true;
  listener_.wake();
}

void Vmhba::look_again(std::uint32_t target) {
  const auto found = targets_.find(target);
  if (found != targets_.end()) found->second->look_again();
}

bool Vmhba::is_scanning() const {
  const auto is_looking = [](const auto& entry) {
    const Target& target = *entry.second;
    return target.is_looking() && target.state() == model::TargetState::kLoggedIn;
  };
  return discovery_->is_running() || std::ranges::any_of(targets_, is_looking);
}

std::vector<verbs::Gid> Vmhba::gids_of_network() const {
  std::vector<verbs::Gid> gids;
  for (const verbs::GidType type : {verbs::GidType::kRoceV2, verbs::GidType::kRoceV1}) {
    for (const verbs::Gid& gid : ports_.directory().gids_in(order_.segment, type)) {
      if (neighbour::is_link_local(gid.raw) && gid != adapter_->gid()) gids.push_back(gid);
    }
  }
  return gids;
}

// A path that no command takes would be taken for one that works, for as long as its target is away
// and after that. One that is back soon enough answers as if nothing had been.
void Vmhba::try_missing() {
  const std::vector<verbs::Gid> gids = gids_of_network();
  for (auto& [number, target] : targets_) {
    const verbs::Gid& gid = target->facts().address.gid;
    if (!neighbour::is_link_local(gid.raw) || std::ranges::find(gids, gid) != gids.end()) continue;
    const auto way = adapter_->way_to(gid);
    const bool is_native = !way || way->has_packets;
    if (!is_native) target->look_again();
  }
}

void Vmhba::begin_discovery(Instant now) {
  problem_.clear();  // told anew by what is found
  std::vector<wire::infiniband::Gid> gids;
  for (const verbs::Gid& gid : gids_of_network()) {
    if (gids.size() < connection::DeviceDiscovery::kMostUnits) gids.push_back(gid.raw);
  }
  add_named();
  [[maybe_unused]] const Status begun = discovery_->start(gids, now);
}

void Vmhba::look_at_network(Instant now) {
  if (!order_.is_up) return;
  if (const std::uint64_t epoch = ports_.directory().epoch(); epoch != network_epoch_) {
    network_epoch_ = epoch;
    take_ipv4();
    // A guest that changes its GIDs all the time puts no search off.
    const Instant first = now + kFirstLook;
    const Instant next = discoveries_.empty() ? first : std::min(discoveries_.back(), first);
    discoveries_ = {now + kThirdLook, now + kSecondLook, next};
    missing_look_ = std::min(missing_look_, now + kMissingLook);
  }
  if (now >= missing_look_) {
    missing_look_ = kNever;
    try_missing();
  }
  if (discoveries_.empty() || now < discoveries_.back() || discovery_->is_running()) return;
  discoveries_.pop_back();
  begin_discovery(now);
}

// ---- Work ----

bool Vmhba::has_work() const {
  return is_woken_ || adapter_->adapter().has_work() || datagrams_->has_work() ||
         std::ranges::any_of(targets_, [](const auto& entry) {
           const TargetLogin* login = entry.second->login();
           return login != nullptr && login->has_messages();
         });
}

Instant Vmhba::next_look() {
  Instant next = std::min(connections_->next_deadline(), discovery_->next_deadline());
  if (!order_.is_up) return next;
  if (ports_.directory().epoch() != network_epoch_) return Instant::min();
  next = std::min(next, missing_look_);
  // While one runs, its end is waited for.
  if (!discoveries_.empty() && !discovery_->is_running()) {
    next = std::min(next, discoveries_.back());
  }
  return next;
}

void Vmhba::pump(Instant now, verbs::Budget& budget) {
  now_ = now;
  is_woken_ = false;
  adapter_->adapter().run(now, budget);
  datagrams_->deliver(kMostDatagrams, [&](const verbs::Gid& from,
                                          std::span<const std::byte, host_verbs::kMadBytes> mad) {
    const auto header = wire::infiniband::part_of<wire::infiniband::MadHeader>(mad, 0);
    if (header.management_class == wire::infiniband::management_class::kCommunication) {
      connections_->receive(from.raw, mad, now);
    } else if (header.management_class == wire::infiniband::management_class::kDeviceManagement &&
               wire::infiniband::is_response(header.method)) {
      // A question is another initiator's, which looks for targets as we do.
      discovery_->receive(from.raw, mad, now);
    }
  });
  if (connections_->next_deadline() <= now) connections_->advance(now);
  if (discovery_->next_deadline() <= now) discovery_->advance(now);
  look_at_network(now);
  for (auto& [number, target] : targets_) target->pump(now);
  adapter_->adapter().run(now, budget);
}

std::string Vmhba::problem(Instant now) const {
  if (!ipv4_problem_.empty()) return ipv4_problem_;
  const auto rival = resolver_.rival(now);
  if (!rival || !problem_.empty()) return problem_;
  return fmt::format(
      "another station of the network, {:02x}, has the address {}, too: give one of them another",
      fmt::join(*rival, ":"), format_ipv4(order_.ipv4->address));
}

// A guest can have it, and give it up.
void Vmhba::take_ipv4() {
  const Status bound = adapter_->bind_ipv4();
  ipv4_problem_ = bound
                      ? std::string()
                      : fmt::format("its IPv4 address cannot be used: {}. Give one of them another",
                                    bound.error().message);
}

std::map<std::string, std::uint64_t> Vmhba::counters() const {
  std::map<std::string, std::uint64_t> all;
  const std::array<const CounterSet*, 5> sets{
      &datagrams_->counters().set, &connections_->counters().set, &discovery_->counters().set,
      &resolver_.counters().set, &adapter_->adapter().counters().set};
  for (const CounterSet* set : sets) {
    for (const Counter* counter : set->all()) {
      if (counter->value() > 0) all.emplace(counter->name(), counter->value());
    }
  }
  return all;
}

// ---- Datagrams and connections ----

bool Vmhba::send(const wire::infiniband::Gid& to,
                 std::span<const std::byte, wire::infiniband::kMadBytes> mad) {
  verbs::Gid gid;
  gid.raw = to;
  return datagrams_->send(gid, mad);
}

Target* Vmhba::find(connection::ConnectionId id) {
  for (auto& [number, target] : targets_) {
    if (target->login() != nullptr && target->login()->connection() == id) return target.get();
  }
  return nullptr;
}

void Vmhba::on_reply(connection::ConnectionId id, const connection::Reply& reply) {
  if (Target* target = find(id)) target->login()->on_reply(reply, now_);
}

void Vmhba::on_rejected(connection::ConnectionId id, const connection::Rejection& rejection) {
  if (Target* target = find(id)) target->login()->on_rejected(rejection);
}

void Vmhba::on_timed_out(connection::ConnectionId id) {
  if (Target* target = find(id)) target->login()->on_timed_out();
}

void Vmhba::on_disconnected(connection::ConnectionId id, connection::Ending /*ending*/) {
  if (Target* target = find(id)) target->login()->on_disconnected(now_);
}

}  // namespace paravane::storage
