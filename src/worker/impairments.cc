#include "worker/impairments.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace paravane::worker {
namespace {

transport_impaired::Impairment to_transport(const model::Impairment& impairment,
                                            std::uint64_t seed) {
  return {.loss = impairment.loss_ppm,
          .reorder = impairment.reorder_ppm,
          .rnr = impairment.rnr_ppm,
          .delay = std::chrono::microseconds(impairment.delay_us),
          .seed = seed};
}

}  // namespace

Impairments::Impairments(fabric::Directory& directory, std::vector<verbs::Transport*> carriers,
                         const TurnClock& clock, VmOf vm_of)
    : directory_(directory),
      carriers_(std::move(carriers)),
      clock_(clock),
      vm_of_(std::move(vm_of)) {
  directory_.set_detour([this](const fabric::Directory::Leg& leg) { return detour(leg); });
}

Impairments::~Impairments() {
  directory_.set_detour({});
}

Impairments::Place* Impairments::pick(const model::Impairment& impairment) {
  const auto same = std::ranges::find_if(places_, [&](const auto& place) {
    return place->spec && place->spec->vm == impairment.vm && place->spec->peer == impairment.peer;
  });
  if (same != places_.end()) return same->get();
  const auto free = std::ranges::find_if(places_, [](const auto& place) { return !place->spec; });
  if (free != places_.end()) return free->get();
  if (places_.size() >= model::kMaxImpairments) return nullptr;
  return places_.emplace_back(make_place()).get();
}

std::unique_ptr<Impairments::Place> Impairments::make_place() {
  const auto find_path = [this](verbs::AdapterId from, const verbs::Gid& sgid,
                                const verbs::Gid& dgid, verbs::GidType type) {
    return directory_.route(from, sgid, dgid, type);
  };
  auto place = std::make_unique<Place>();
  for (verbs::Transport* carrier : carriers_) {
    place->ways.push_back(std::make_unique<ImpairedTransport>(*carrier, clock_, find_path));
  }
  return place;
}

void Impairments::set(Place& place, const transport_impaired::Impairment& impairment) {
  for (const auto& way : place.ways) way->set(impairment);
}

std::optional<model::ImpairmentStatus> Impairments::set(const model::Impairment& impairment) {
  Place* place = pick(impairment);
  if (place == nullptr) return std::nullopt;
  place->spec = impairment;
  place->peer.reset();
  if (const auto gid = model::parse_gid(impairment.peer)) place->peer = verbs::Gid{*gid};
  set(*place, to_transport(impairment, impairment.seed));
  directory_.detours_changed();
  return status_of(*place);
}

bool Impairments::clear(const std::optional<std::string>& vm) {
  bool any = false;
  for (const auto& place : places_) {
    if (!place->spec || (vm && place->spec->vm != *vm)) continue;
    free(*place);
    any = true;
  }
  if (any) directory_.detours_changed();
  return any;
}

void Impairments::free(Place& place) {
  place.spec.reset();
  place.peer.reset();
  set(place, {});
}

void Impairments::forget_vm(const std::string& vm) {
  for (const auto& place : places_) {
    if (!place->spec) continue;
    const bool is_peer = place->spec->peer == vm && vm != model::kAnyPeer;
    if (place->spec->vm == vm || is_peer) free(*place);
  }
  directory_.detours_changed();
}

void Impairments::forget_adapter(verbs::AdapterId adapter) {
  for (const auto& place : places_) {
    for (const auto& way : place->ways) way->forget(adapter);
  }
}

// A peer by its address, else by its VM's name, else any.
Impairments::Place* Impairments::match(verbs::AdapterId from, const verbs::Gid& dgid,
                                       std::optional<verbs::AdapterId> peer) const {
  const std::string vm = vm_of_(from);
  const std::string peer_vm = peer ? vm_of_(*peer) : std::string();
  Place* by_name = nullptr;
  Place* any = nullptr;
  for (const auto& place : places_) {
    if (!place->spec || place->spec->vm != vm) continue;
    if (place->peer == dgid) return place.get();
    if (place->spec->peer == model::kAnyPeer) {
      any = place.get();
    } else if (!peer_vm.empty() && place->spec->peer == peer_vm) {
      by_name = place.get();
    }
  }
  return by_name != nullptr ? by_name : any;
}

verbs::Transport* Impairments::detour(const fabric::Directory::Leg& leg) const {
  if (places_.empty()) return nullptr;
  const Place* place = match(leg.from, leg.dgid, leg.peer);
  if (place == nullptr) return nullptr;
  const auto found = std::ranges::find(carriers_, leg.usual);
  return found == carriers_.end()
             ? nullptr
             : place->ways.at(static_cast<std::size_t>(found - carriers_.begin())).get();
}

model::ImpairmentStatus Impairments::status_of(const Place& place) {
  model::ImpairmentStatus status{.spec = *place.spec};
  for (const auto& way : place.ways) {
    const transport_impaired::Counts& counts = way->counts();
    status.messages += counts.messages;
    status.lost += counts.lost;
    status.answers_lost += counts.answers_lost;
    status.delayed += counts.delayed;
    status.reordered += counts.reordered;
    status.rnr += counts.receiver_not_ready;
  }
  return status;
}

std::vector<model::ImpairmentStatus> Impairments::list() const {
  std::vector<model::ImpairmentStatus> list;
  for (const auto& place : places_) {
    if (place->spec) list.push_back(status_of(*place));
  }
  return list;
}

std::vector<model::CounterGroup> Impairments::counters() const {
  std::vector<model::CounterGroup> groups;
  for (const model::ImpairmentStatus& one : list()) {
    groups.push_back(
        {.name = fmt::format("impaired {} to {}", one.spec.vm, one.spec.peer),
         .counters = {
             {"messages", "attempts to send messages and datagrams", one.messages},
             {"lost", "attempts dropped", one.lost},
             {"answers_lost", "attempts that were carried out but whose response was dropped",
              one.answers_lost},
             {"delayed", "attempts delayed", one.delayed},
             {"reordered", "attempts held back for reordering", one.reordered},
             {"rnr", "attempts answered with an RNR NAK", one.rnr}}});
  }
  return groups;
}

bool Impairments::has_work() const {
  return std::ranges::any_of(places_, [](const auto& place) {
    return std::ranges::any_of(place->ways, &ImpairedTransport::has_work);
  });
}

Instant Impairments::next_look() {
  Instant next = kNever;
  for (const auto& place : places_) {
    for (const auto& way : place->ways) next = std::min(next, way->next_due());
  }
  return next;
}

bool Impairments::turn(Instant now, verbs::Budget& budget) {
  const verbs::Budget before = budget;
  for (const auto& place : places_) {
    for (const auto& way : place->ways) way->poll(now, budget);
  }
  return budget.bytes != before.bytes || budget.operations != before.operations;
}

}  // namespace paravane::worker
