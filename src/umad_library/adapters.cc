#include "umad_library/adapters.h"

#include <cerrno>
#include <cstdlib>
#include <span>

namespace paravane::umad_library {
namespace {

using umad::Ask;
using umad::Outcome;

constexpr std::uint32_t kSwitch = 2;  // its one port is number 0
constexpr int kMostPortNumber = 254;

umad::Question question_of(Ask ask, const umad::Name& name, int portnum) {
  umad::Question question;
  question.ask = Le32(static_cast<std::uint32_t>(ask));
  question.adapter = name;
  question.port = Le32(static_cast<std::uint32_t>(portnum));
  return question;
}

template <typename Facts>
int ask_facts(Door& door, Ask ask, const std::string& name, int portnum, Facts& facts) {
  const auto wire = to_door_name(name);
  if (!wire) return ENOENT;
  const auto outcome = door.ask(question_of(ask, *wire, portnum),
                                std::as_writable_bytes(std::span<Facts, 1>(&facts, 1)));
  if (!outcome) return outcome.error();
  return *outcome == Outcome::kDone ? 0 : ENOENT;
}

}  // namespace

std::expected<std::vector<std::string>, int> adapter_names(Door& door) {
  umad::AdapterNames names;
  const auto outcome =
      door.ask(question_of(Ask::kAdapters, {}, 0),
               std::as_writable_bytes(std::span<umad::AdapterNames, 1>(&names, 1)));
  if (!outcome) return std::unexpected(outcome.error());
  if (*outcome != Outcome::kDone) return std::unexpected(EIO);
  return names_of(names);
}

std::optional<std::uint32_t> ipoib_uplinks(Door& door) {
  umad::IpoibFacts facts;
  const auto outcome = door.ask(question_of(Ask::kIpoib, {}, 0),
                                std::as_writable_bytes(std::span<umad::IpoibFacts, 1>(&facts, 1)));
  if (!outcome || *outcome != Outcome::kDone) return std::nullopt;
  return facts.uplinks.get();
}

int load_port(Door& door, const std::string& name, int portnum, umad_port_t& port) {
  port = {};
  if (portnum < 0 || portnum > kMostPortNumber) return ENOENT;
  umad::PortFacts facts;
  const int error = ask_facts(door, Ask::kPort, name, portnum, facts);
  return error != 0 ? error : fill_port(facts, name, portnum, port);
}

int load_ca(Door& door, const std::string& name, umad_ca_t& ca) {
  ca = {};
  umad::AdapterFacts facts;
  int error = ask_facts(door, Ask::kAdapter, name, 0, facts);
  if (error == 0) error = fill_ca(facts, name, ca);
  if (error != 0) return error;
  const bool is_switch = ca.node_type == kSwitch;
  const int first = is_switch ? 0 : 1;
  const int last = is_switch ? 0 : static_cast<int>(facts.ports.get());
  if (last >= UMAD_CA_MAX_PORTS) return EIO;
  for (int number = first; number <= last && error == 0; ++number) {
    auto* port = static_cast<umad_port_t*>(std::calloc(1, sizeof(umad_port_t)));
    ca.ports[number] = port;
    ca.numports = number;
    error = port == nullptr ? ENOMEM : load_port(door, name, number, *port);
  }
  if (error != 0) release_ca(ca);
  return error;
}

}  // namespace paravane::umad_library
