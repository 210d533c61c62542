#include "connection/device_discovery.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "connection/service_name.h"
#include "wire/infiniband/attribute.h"

namespace paravane::connection {

namespace device_management = wire::infiniband::device_management;
using wire::infiniband::attribute_of;
using wire::infiniband::ControllerProfile;
using wire::infiniband::ControllerSlot;
using wire::infiniband::DeviceManagementPacket;
using wire::infiniband::kServicesInAnswer;
using wire::infiniband::MadHeader;
using wire::infiniband::ServiceEntries;
using wire::infiniband::ServiceEntry;
using wire::infiniband::UnitInfo;

namespace {

bool is_answer(const MadHeader& header) {
  return header.base_version == 1 &&
         header.management_class == wire::infiniband::management_class::kDeviceManagement &&
         header.class_version == wire::infiniband::kDeviceManagementVersion &&
         header.method == wire::infiniband::method::kGetResponse;
}

bool is_srp(const ControllerProfile& profile) {
  const std::uint16_t io_class = profile.io_class.get();
  return profile.protocol.get() == wire::infiniband::kSrpProtocol &&
         (io_class == wire::infiniband::kSrpClass ||
          io_class == wire::infiniband::kSrpRevision10Class);
}

// The first and the last entry that a question about services is about.
unsigned first_of(std::uint32_t modifier) {
  return modifier & 0xFF;
}
unsigned last_of(std::uint32_t modifier) {
  return (modifier >> 8) & 0xFF;
}

}  // namespace

DeviceDiscovery::DeviceDiscovery(DatagramPort& port, DiscoveryListener& listener,
                                 std::uint64_t seed)
    : port_(port), listener_(listener), numbers_(seed) {}

// ---- The search ----

Status DeviceDiscovery::start(std::span<const Gid> gids, Instant now) {
  if (gids.size() > kMostUnits)
    return fail(Errc::kInvalidArgument, "a search for storage targets asks at most " +
                                            std::to_string(kMostUnits) + " addresses");
  stop();
  units_.clear();
  for (const Gid& gid : gids) {
    if (std::ranges::find(units_, gid, &UnitResult::gid) == units_.end())
      units_.push_back({.gid = gid});
  }
  most_controllers_.assign(units_.size(), 0);
  for (std::size_t unit = 0; unit < units_.size(); ++unit)
    ask({.unit = unit, .attribute = device_management::kUnitInfo});
  counters_.searches.add();
  is_running_ = true;
  ends_at_ = now + kMostDuration;
  fill(now);
  return {};
}

void DeviceDiscovery::stop() {
  ++search_;
  is_running_ = false;
  controllers_.clear();
  waiting_.clear();
  open_.clear();
}

Instant DeviceDiscovery::next_deadline() const {
  if (!is_running_) return kNever;
  Instant next = ends_at_;
  for (const Question& question : open_) next = std::min(next, question.due);
  // Nothing is left, or was there from the beginning.
  return open_.empty() ? Instant::min() : next;
}

void DeviceDiscovery::advance(Instant now) {
  if (!is_running_) return;
  if (now >= ends_at_ && !open_.empty()) {
    counters_.searches_cut_short.add();
    return finish();
  }
  for (auto question = open_.begin(); question != open_.end();) {
    if (question->due > now) {
      ++question;
    } else if (question->tries < kTries) {
      send(*question++, now);
    } else {
      give_up(*question);
      question = open_.erase(question);
    }
  }
  fill(now);
  if (open_.empty()) finish();
}

void DeviceDiscovery::give_up(const Question& question) {
  counters_.questions_unanswered.add();
  if (question.attribute == device_management::kUnitInfo)
    units_[question.unit].state = UnitState::kSilent;
}

void DeviceDiscovery::finish() {
  stop();
  for (UnitResult& unit : units_) {
    if (unit.state == UnitState::kAsked) unit.state = UnitState::kSilent;
  }
  listener_.on_finished();
}

// ---- Questions ----

void DeviceDiscovery::ask(const Question& question) {
  waiting_.push_back(question);
  waiting_.back().transaction = numbers_.next_transaction();
}

void DeviceDiscovery::ask_services(std::size_t unit, std::size_t controller, unsigned first) {
  const Controller& about = controllers_[controller];
  // Not beyond the last one: Linux's target then says that there is no controller.
  const unsigned last =
      std::min<unsigned>(first + kServicesInAnswer, about.profile.service_entries) - 1;
  ask({.unit = unit,
       .attribute = device_management::kServiceEntries,
       .modifier = wire::infiniband::service_modifier(about.slot, static_cast<std::uint8_t>(first),
                                                      static_cast<std::uint8_t>(last)),
       .controller = controller});
}

void DeviceDiscovery::send(Question& question, Instant now) {
  DeviceManagementPacket packet;
  packet.header.management_class = wire::infiniband::management_class::kDeviceManagement;
  packet.header.class_version = wire::infiniband::kDeviceManagementVersion;
  packet.header.method = wire::infiniband::method::kGet;
  packet.header.transaction.set(question.transaction);
  packet.header.attribute.set(question.attribute);
  packet.header.modifier.set(question.modifier);
  if (!port_.send(units_[question.unit].gid,
                  std::as_bytes(std::span<const DeviceManagementPacket, 1>(&packet, 1)))) {
    counters_.not_sent.add();
    question.due = now + kNoRoomPause;
    return;
  }
  (question.tries == 0 ? counters_.questions_sent : counters_.questions_repeated).add();
  ++question.tries;
  question.due = now + kTimeout;
}

void DeviceDiscovery::fill(Instant now) {
  while (open_.size() < kWindow && !waiting_.empty()) {
    open_.push_back(waiting_.front());
    waiting_.pop_front();
    send(open_.back(), now);
    if (open_.back().tries == 0) return;  // the port has no room
  }
}

// ---- Answers ----

void DeviceDiscovery::receive(const Gid& from, Mad mad, Instant now) {
  if (!is_running_) return;
  const auto packet = wire::infiniband::part_of<DeviceManagementPacket>(mad, 0);
  if (!is_answer(packet.header)) return counters_.bad_headers.add();
  const auto found = answered(from, packet);
  if (found == open_.end()) return;
  counters_.answers.add();
  const Question question = *found;
  open_.erase(found);
  const std::uint64_t search = search_;
  take(question, packet);
  if (search_ != search) return;
  fill(now);
  if (open_.empty()) finish();
}

std::vector<DeviceDiscovery::Question>::iterator DeviceDiscovery::answered(
    const Gid& from, const DeviceManagementPacket& packet) {
  const MadHeader& header = packet.header;
  const auto found = std::ranges::find(open_, header.transaction.get(), &Question::transaction);
  if (found == open_.end()) {
    counters_.unknown_questions.add();
    return found;
  }
  Counter* odd = nullptr;
  if (units_[found->unit].gid != from)
    odd = &counters_.foreign_senders;
  else if (header.attribute.get() != found->attribute || header.modifier.get() != found->modifier)
    odd = &counters_.other_answers;
  else if ((header.status.get() & wire::infiniband::mad_status::kBusy) != 0)
    odd = &counters_.busy_units;
  if (odd == nullptr) return found;
  // The question stays open, and is asked again.
  odd->add();
  return open_.end();
}

void DeviceDiscovery::take(const Question& question, const DeviceManagementPacket& packet) {
  if (question.attribute == device_management::kUnitInfo) return take_unit(question, packet);
  if (packet.header.status.get() != 0) return counters_.refused_questions.add();
  if (question.attribute == device_management::kControllerProfile)
    return take_profile(question, packet);
  take_services(question, packet);
}

void DeviceDiscovery::take_unit(const Question& question, const DeviceManagementPacket& packet) {
  UnitResult& unit = units_[question.unit];
  // It has no device management, or another port has it.
  if (packet.header.status.get() != 0) {
    unit.state = UnitState::kNoManagement;
    return;
  }
  unit.state = UnitState::kAnswered;
  const auto info = attribute_of<UnitInfo>(packet);
  most_controllers_[question.unit] = info.most_controllers;
  for (unsigned slot = 1; slot <= info.most_controllers; ++slot) {
    if (info.slot(slot) != ControllerSlot::kPresent) continue;
    if (unit.controllers == kMostControllers) return counters_.left_out.add();
    ++unit.controllers;
    ask({.unit = question.unit,
         .attribute = device_management::kControllerProfile,
         .modifier = slot});
  }
}

void DeviceDiscovery::take_profile(const Question& question, const DeviceManagementPacket& packet) {
  const auto profile = attribute_of<ControllerProfile>(packet);
  if (!is_srp(profile)) return counters_.other_controllers.add();
  if (profile.service_entries == 0) return;
  controllers_.push_back(
      {.slot = static_cast<std::uint8_t>(question.modifier), .profile = profile});
  ask_services(question.unit, controllers_.size() - 1, 0);
}

void DeviceDiscovery::take_services(const Question& question,
                                    const DeviceManagementPacket& packet) {
  const auto services = attribute_of<ServiceEntries>(packet);
  const unsigned first = first_of(question.modifier);
  const unsigned last = last_of(question.modifier);
  const std::uint64_t search = search_;
  for (unsigned number = first; number <= last; ++number) {
    if (units_[question.unit].services == kMostServices) return counters_.left_out.add();
    take_service(question, services.entries[number - first]);
    if (search_ != search) return;
  }
  if (last + 1 < controllers_[question.controller].profile.service_entries)
    ask_services(question.unit, question.controller, last + 1);
}

void DeviceDiscovery::take_service(const Question& question, const ServiceEntry& entry) {
  const std::string_view name = text_of_field(entry.name);
  if (!is_srp_name(name)) return counters_.other_services.add();
  const auto extension = id_extension_of(name);
  if (!extension || entry.id.get() == 0) return counters_.bad_services.add();
  UnitResult& unit = units_[question.unit];
  ++unit.services;
  counters_.services_found.add();
  const auto& [slot, profile] = controllers_[question.controller];
  listener_.on_service({.gid = unit.gid,
                        .most_controllers = most_controllers_[question.unit],
                        .slot = slot,
                        .controller_guid = profile.guid.get(),
                        .controller = printable_text(profile.id_string),
                        .io_class = profile.io_class.get(),
                        .service = entry.id.get(),
                        .id_extension = *extension,
                        .name = std::string(name),
                        .message_bytes = profile.message_bytes.get(),
                        .transfer_bytes = profile.transfer_bytes.get(),
                        .send_queue_depth = profile.send_queue_depth.get(),
                        .read_depth = profile.read_depth});
}

}  // namespace paravane::connection
