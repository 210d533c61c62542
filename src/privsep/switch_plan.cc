#include "privsep/switch_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include "model/machine.h"
#include "model/storage.h"
#include "model/vm.h"

namespace paravane::privsep {
namespace {

constexpr std::string_view kPlanHead = "paravane-switch-plan 1";
constexpr std::string_view kReportHead = "paravane-switch-report 1";
constexpr std::string_view kNothing = "-";
constexpr std::size_t kMaxWords = model::kMaxPortGroups + 8;  // of a statement

std::unexpected<Error> bad(std::string_view what) {
  return fail(Errc::kInvalidArgument, fmt::format("switch: {}", what));
}

// Up to `mark`, which is taken away too.
std::string_view take(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

// Words of one statement. What is asked for and is not there is empty or 0, and bad.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::string_view word() {
    const std::string_view word = take(text_, ' ');
    good_ = good_ && !word.empty();
    return word;
  }
  std::string name() { return std::string(word()); }
  std::uint32_t number() {
    const std::string_view digits = word();
    std::uint32_t value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    good_ = good_ && parsed.ec == std::errc{} && parsed.ptr == digits.data() + digits.size();
    return value;
  }
  model::MacAddress mac() {
    const auto value = model::parse_mac(word());
    good_ = good_ && value.has_value();
    return value.value_or(model::MacAddress{});
  }
  std::optional<Ipv4Interface> ipv4() {
    const std::string_view text = word();
    if (text == kNothing) return std::nullopt;
    const auto value = parse_ipv4_interface(text);
    good_ = good_ && value.has_value();
    return value;
  }
  std::string rest() { return std::string(std::exchange(text_, {})); }

  bool at_end() const { return text_.empty(); }
  bool good() const { return good_; }

 private:
  std::string_view text_;
  bool good_ = true;
};

// Each statement of a text with this head, in its order. `read` is given the first word
// and the others; false: it is no such statement.
template <typename Read>
Status read_statements(std::string_view text, std::string_view head, std::size_t longest,
                       Read read) {
  if (text.size() > longest) return bad("too long");
  if (take(text, ';') != head) return bad("unsupported version");
  while (!text.empty()) {
    if (text.find(';') == std::string_view::npos) return bad("cut off");
    Words words(take(text, ';'));
    const std::string_view kind = words.word();
    if (!read(kind, words) || !words.good() || !words.at_end()) {
      return bad(fmt::format("not a statement: {:.40}", kind));
    }
  }
  return {};
}

SwitchPlan::Switch read_switch(Words& words) {
  SwitchPlan::Switch vds{
      .name = words.name(), .mtu = words.number(), .uplink = words.name(), .vlans = {}};
  if (vds.uplink == kNothing) vds.uplink.clear();
  for (std::size_t i = 0; !words.at_end() && words.good() && i < kMaxWords; ++i) {
    vds.vlans.push_back(words.number());
  }
  return vds;
}

// Of the switch before it, once.
bool read_standby(Words& words, SwitchPlan& plan) {
  const std::string vds = words.name();
  if (plan.switches.empty() || plan.switches.back().name != vds) return false;
  std::vector<std::string>& standby = plan.switches.back().standby;
  if (!standby.empty()) return false;
  do {
    standby.push_back(words.name());
  } while (!words.at_end() && words.good() && standby.size() < model::kMaxTeam);
  return true;
}

Status check(const SwitchPlan::Switch& vds) {
  if (Status good = model::check_switch({.name = vds.name, .mtu = vds.mtu}); !good) return good;
  if (!vds.uplink.empty()) {
    const Status good =
        model::check_switch_host({.host = "host", .uplink = vds.uplink, .standby = vds.standby});
    if (!good) return good;
  } else if (!vds.standby.empty()) {
    return bad("standby uplinks without an uplink");
  }
  // Going up, each stands once.
  if (std::ranges::adjacent_find(vds.vlans, std::ranges::greater_equal()) != vds.vlans.end()) {
    return bad("VLANs are not in ascending order");
  }
  if (!vds.vlans.empty() && vds.vlans.back() > model::kGuestVlans) return bad("no such VLAN");
  return {};
}

Status check_tap(const SwitchPlan::Tap& tap, const SwitchPlan& plan) {
  if (Status good = model::check_name(tap.vm); !good) return good;
  if (tap.adapter > model::kMaxAdapters) return bad("no such adapter");
  if (tap.adapter == 0) {
    if (Status good = model::check_vmhba_name(tap.vm); !good) return good;
    if (tap.vlan == model::kGuestVlans) return bad("a service tags no frames");
  }
  const auto vds = std::ranges::find(plan.switches, tap.vds, &SwitchPlan::Switch::name);
  if (vds == plan.switches.end()) return bad("a tap belongs to an unknown switch");
  if (std::ranges::binary_search(vds->vlans, tap.vlan)) return {};
  return bad("a tap belongs to an unknown VLAN");
}

Status check_vmknic(const SwitchPlan::Vmknic& vmknic, const SwitchPlan& plan) {
  const Status good = model::check_vmknic(
      {.name = vmknic.name, .port_group = vmknic.vds, .mac = vmknic.mac, .ipv4 = vmknic.ipv4});
  if (!good) return good;
  const auto vds = std::ranges::find(plan.switches, vmknic.vds, &SwitchPlan::Switch::name);
  if (vds == plan.switches.end()) return bad("a VMkernel interface belongs to an unknown switch");
  if (vmknic.vlan > model::kMaxVlan || !std::ranges::binary_search(vds->vlans, vmknic.vlan)) {
    return bad("a VMkernel interface belongs to an unknown VLAN");
  }
  for (const SwitchPlan::Vmknic& other : plan.vmknics) {
    if (&other == &vmknic) continue;
    if (other.name == vmknic.name) return bad("duplicate VMkernel interface");
    if (other.ipv4 && vmknic.ipv4 && other.ipv4->overlaps(*vmknic.ipv4)) {
      return bad("two VMkernel interfaces share a network");
    }
  }
  return {};
}

Status check_roce_ports(const SwitchPlan& plan) {
  std::set<std::pair<std::string, std::uint32_t>> ports;
  for (const SwitchPlan::RocePort& port : plan.roce_ports) {
    const bool has_tap = std::ranges::any_of(plan.taps, [&](const SwitchPlan::Tap& tap) {
      return tap.vm == port.vm && tap.adapter == port.adapter;
    });
    if (!has_tap) return bad("a RoCE port belongs to an unknown tap");
    if (!ports.emplace(port.vm, port.adapter).second) return bad("a RoCE port twice");
    if (Status good = model::check_mac({.mac = port.mac}); !good) return good;
  }
  return {};
}

// The engine alone uses the tap of a service, as its RoCE port.
Status check_services(const SwitchPlan& plan) {
  for (const SwitchPlan::Tap& tap : plan.taps) {
    if (tap.adapter != 0) continue;
    const bool has_port = std::ranges::any_of(plan.roce_ports, [&](const auto& port) {
      return tap.vm == port.vm && tap.adapter == port.adapter;
    });
    if (!has_port) return bad("a service's tap lacks a RoCE port");
  }
  return {};
}

Status check_ipoib_uplinks(const SwitchPlan& plan) {
  std::set<std::string> names;
  for (const SwitchPlan::IpoibUplink& uplink : plan.ipoib_uplinks) {
    if (!model::is_ipoib_uplink_name(uplink.name)) return bad("no name of an IPoIB uplink");
    if (!names.insert(uplink.name).second) return bad("an IPoIB uplink twice");
    if (switch_of_uplink(plan, uplink.name) == nullptr) {
      return bad("an IPoIB uplink belongs to an unknown switch");
    }
  }
  return {};
}

Status check(const SwitchPlan& plan) {
  if (plan.switches.size() > model::kMaxSwitches) return bad("too many switches");
  std::set<std::string> names;
  std::set<std::string> nics;
  for (const SwitchPlan::Switch& vds : plan.switches) {
    if (Status good = check(vds); !good) return good;
    if (!names.insert(vds.name).second) return bad("a switch twice");
    for (const std::string& uplink : uplinks_of(vds)) {
      if (!nics.insert(uplink).second) return bad("a NIC twice");
    }
  }
  std::set<std::pair<std::string, std::uint32_t>> taps;
  for (const SwitchPlan::Tap& tap : plan.taps) {
    if (Status good = check_tap(tap, plan); !good) return good;
    if (!taps.emplace(tap.vm, tap.adapter).second) return bad("a tap twice");
  }
  if (plan.vmknics.size() > model::kMaxVmknics) return bad("too many VMkernel interfaces");
  for (const SwitchPlan::Vmknic& vmknic : plan.vmknics) {
    if (Status good = check_vmknic(vmknic, plan); !good) return good;
  }
  if (Status good = check_roce_ports(plan); !good) return good;
  if (Status good = check_services(plan); !good) return good;
  return check_ipoib_uplinks(plan);
}

std::string ipv4_word(const std::optional<Ipv4Interface>& ipv4) {
  return ipv4 ? format_ipv4(*ipv4) : std::string(kNothing);
}

// Words for people, which may be anything, in a statement of their own.
std::string clean(std::string_view text) {
  std::string cleaned(text.substr(0, 400));
  std::ranges::replace_if(cleaned, [](char c) { return c < ' ' || c > '~'; }, '?');
  std::ranges::replace(cleaned, ';', ',');
  return cleaned;
}

}  // namespace

std::vector<std::string> uplinks_of(const SwitchPlan::Switch& vds) {
  return model::uplinks_of(
      model::SwitchHost{.host = {}, .uplink = vds.uplink, .standby = vds.standby});
}

const SwitchPlan::Switch* switch_of_uplink(const SwitchPlan& plan, std::string_view uplink) {
  if (uplink.empty()) return nullptr;
  for (const SwitchPlan::Switch& vds : plan.switches) {
    if (vds.uplink == uplink || std::ranges::count(vds.standby, uplink) != 0) return &vds;
  }
  return nullptr;
}

Result<std::string> print(const SwitchPlan& plan) {
  std::string text = fmt::format("{};", kPlanHead);
  for (const SwitchPlan::Switch& vds : plan.switches) {
    text += fmt::format("switch {} {} {}", vds.name, vds.mtu,
                        vds.uplink.empty() ? kNothing : std::string_view(vds.uplink));
    for (const std::uint32_t vlan : vds.vlans) text += fmt::format(" {}", vlan);
    text += ';';
    if (vds.standby.empty()) continue;
    text += fmt::format("standby {}", vds.name);
    for (const std::string& uplink : vds.standby) text += fmt::format(" {}", uplink);
    text += ';';
  }
  for (const SwitchPlan::Tap& tap : plan.taps) {
    text += fmt::format("tap {} {} {} {};", tap.vm, tap.adapter, tap.vds, tap.vlan);
  }
  for (const SwitchPlan::RocePort& port : plan.roce_ports) {
    text += fmt::format("roce {} {} {} {};", port.vm, port.adapter, model::format_mac(port.mac),
                        port.making);
  }
  for (const SwitchPlan::IpoibUplink& uplink : plan.ipoib_uplinks) {
    text += fmt::format("ipoib {} {};", uplink.name, uplink.making);
  }
  for (const SwitchPlan::Vmknic& vmknic : plan.vmknics) {
    text += fmt::format("vmknic {} {} {} {} {};", vmknic.name, vmknic.vds, vmknic.vlan,
                        model::format_mac(vmknic.mac), ipv4_word(vmknic.ipv4));
  }
  if (text.size() <= kMaxPlanText) return text;
  return fail(Errc::kResourceExhausted, "too many switches, port groups and adapters on this host");
}

Result<SwitchPlan> parse_switch_plan(std::string_view text) {
  SwitchPlan plan;
  const Status read =
      read_statements(text, kPlanHead, kMaxPlanText, [&plan](std::string_view kind, Words& words) {
        if (kind == "switch") {
          plan.switches.push_back(read_switch(words));
        } else if (kind == "standby") {
          return read_standby(words, plan);
        } else if (kind == "tap") {
          plan.taps.push_back({.vm = words.name(),
                               .adapter = words.number(),
                               .vds = words.name(),
                               .vlan = words.number()});
        } else if (kind == "roce") {
          plan.roce_ports.push_back({.vm = words.name(),
                                     .adapter = words.number(),
                                     .mac = words.mac(),
                                     .making = words.number()});
        } else if (kind == "ipoib") {
          plan.ipoib_uplinks.push_back({.name = words.name(), .making = words.number()});
        } else if (kind == "vmknic") {
          plan.vmknics.push_back({.name = words.name(),
                                  .vds = words.name(),
                                  .vlan = words.number(),
                                  .mac = words.mac(),
                                  .ipv4 = words.ipv4()});
        } else {
          return false;
        }
        return true;
      });
  if (!read) return std::unexpected(read.error());
  if (Status good = check(plan); !good) return std::unexpected(good.error());
  return plan;
}

std::string print(const SwitchReport& report) {
  std::string text = fmt::format("{};", kReportHead);
  const auto add = [&text](const std::string& statement) {
    if (text.size() + statement.size() < kMaxReportText) text += statement + ';';
  };
  if (!report.problem.empty()) {
    add(fmt::format("failed {} {}", model::to_string(report.fault), clean(report.problem)));
  }
  for (const SwitchReport::Switch& vds : report.switches) {
    add(fmt::format("switch {} {}", vds.name, model::to_string(vds.form)));
    for (const std::string& bridge : vds.bridges) add(fmt::format("bridge {}", clean(bridge)));
    if (!vds.active.empty()) add(fmt::format("active {}", clean(vds.active)));
    for (const std::string& problem : vds.problems) add("problem " + clean(problem));
  }
  for (const SwitchReport::Tap& tap : report.taps) {
    add(fmt::format("tap {} {} {} {}", tap.vm, tap.adapter, model::to_string(tap.fault),
                    clean(tap.problem)));
  }
  for (const SwitchReport::Vmknic& vmknic : report.vmknics) {
    add(fmt::format("vmknic {} {}", vmknic.name, clean(vmknic.problem)));
  }
  if (const auto& management = report.management) {
    add(fmt::format("management {} {} {} {}", clean(management->interface),
                    model::format_mac(management->mac), management->mtu,
                    ipv4_word(management->ipv4)));
  }
  for (const model::MendedLink& mended : report.mended) {
    add(fmt::format("mended {} {} {}", mended.vds.empty() ? kNothing : mended.vds,
                    clean(mended.interface), clean(mended.text)));
  }
  for (const SwitchReport::Unmerged& port : report.unmerged) {
    add(fmt::format("unmerged {} {} {}", port.vm, port.adapter, clean(port.why)));
  }
  return text;
}

Result<SwitchReport> parse_switch_report(std::string_view text) {
  SwitchReport report;
  const Status read = read_statements(
      text, kReportHead, kMaxReportText, [&report](std::string_view kind, Words& words) {
        if (kind == "failed") {
          const auto fault = model::parse_link_fault(words.word());
          if (!fault) return false;
          report.fault = *fault;
          report.problem = words.rest();
        } else if (kind == "switch") {
          std::string name = words.name();
          const auto form = model::parse_switch_form(words.word());
          if (!form) return false;
          report.switches.push_back({.name = std::move(name), .form = *form});
        } else if (kind == "bridge" && !report.switches.empty()) {
          report.switches.back().bridges.push_back(words.rest());
        } else if (kind == "active" && !report.switches.empty()) {
          report.switches.back().active = words.rest();
        } else if (kind == "problem" && !report.switches.empty()) {
          report.switches.back().problems.push_back(words.rest());
        } else if (kind == "tap") {
          std::string vm = words.name();
          const std::uint32_t adapter = words.number();
          const auto fault = model::parse_link_fault(words.word());
          if (!fault) return false;
          report.taps.push_back(
              {.vm = std::move(vm), .adapter = adapter, .problem = words.rest(), .fault = *fault});
        } else if (kind == "unmerged") {
          report.unmerged.push_back(
              {.vm = words.name(), .adapter = words.number(), .why = words.rest()});
        } else if (kind == "vmknic") {
          report.vmknics.push_back({.name = words.name(), .problem = words.rest()});
        } else if (kind == "management") {
          report.management = {.interface = words.name(),
                               .mac = words.mac(),
                               .mtu = words.number(),
                               .ipv4 = words.ipv4()};
        } else if (kind == "mended") {
          std::string vds = words.name();
          if (vds == kNothing) vds.clear();
          report.mended.push_back(
              {.vds = std::move(vds), .interface = words.name(), .text = words.rest()});
        } else {
          return false;
        }
        return true;
      });
  if (!read) return std::unexpected(read.error());
  return report;
}

}  // namespace paravane::privsep
