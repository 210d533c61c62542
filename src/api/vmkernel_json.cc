#include "api/vmkernel_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"

namespace paravane::api {

using nlohmann::json;

namespace {

std::optional<Ipv4Interface> read_ipv4(JsonReader& reader) {
  if (reader.is_null("ipv4")) return std::nullopt;
  const auto text = reader.text("ipv4");
  if (!text) return std::nullopt;
  const auto value = parse_ipv4_interface(*text);
  if (!value)
    reader.complain("ipv4", "must be an address with a prefix length, such as 192.168.1.241/24");
  return value;
}

json ipv4_json(const std::optional<Ipv4Interface>& ipv4) {
  return ipv4 ? json(format_ipv4(*ipv4)) : json(nullptr);
}

json hca_json(const model::HcaMemory& hca) {
  return {{"device", hca.device},
          {"bytes_per_host", hca.bytes_per_host},
          {"locks_vms", hca.locks_vms},
          {"most_bytes", hca.most ? json(*hca.most) : json(nullptr)}};
}

// Of a daemon that does not say it, none.
model::HcaMemory read_hca(JsonReader& reader) {
  const json* object = reader.object("hca");
  if (object == nullptr) return {};
  JsonReader inner(*object, "hca");
  model::HcaMemory hca{.device = inner.text("device").value_or(""),
                       .bytes_per_host = inner.number("bytes_per_host").value_or(0),
                       .locks_vms = inner.boolean("locks_vms").value_or(false)};
  if (!inner.is_null("most_bytes")) hca.most = inner.number("most_bytes");
  return hca;
}

model::Vmknic read_vmknic(JsonReader& reader) {
  model::Vmknic vmknic;
  vmknic.name = reader.need_text("name");
  vmknic.port_group = reader.need_text("port_group");
  if (const auto mac = reader.text("mac")) {
    vmknic.mac = model::parse_mac(*mac);
    if (!vmknic.mac) reader.complain("mac", "must be a MAC address");
  }
  vmknic.ipv4 = read_ipv4(reader);
  return vmknic;
}

model::SettingValue read_setting(JsonReader& reader) {
  return {.path = reader.need_text("path"), .value = reader.need_text("value")};
}

model::FirewallRuleset read_ruleset(JsonReader& reader) {
  model::FirewallRuleset ruleset{.name = reader.need_text("name")};
  const auto enabled = reader.boolean("enabled");
  if (!enabled) reader.complain("enabled", "must be true or false");
  ruleset.enabled = enabled.value_or(false);
  return ruleset;
}

template <typename T, typename Read>
void read_all(JsonReader& reader, const char* key, std::vector<T>& list, Read read) {
  const json* array = reader.array(key);
  if (array == nullptr) return;
  for (const json& element : *array) {
    auto one = read(element);
    if (one) {
      list.push_back(std::move(*one));
    } else {
      reader.complain(key, one.error().message);
    }
  }
}

// Of an answer, or of what is kept.
template <typename T, typename Read>
Result<T> read_lenient(const json& value, const char* what, Read read) {
  JsonReader reader(value, what);  // NOLINT(misc-const-correctness): `read` changes it
  T result = read(reader);
  if (Status good = reader.finish_ignoring_unknown(); !good) return std::unexpected(good.error());
  return result;
}

}  // namespace

json to_json(const model::Vmknic& vmknic) {
  json value = {{"name", vmknic.name}, {"port_group", vmknic.port_group}};
  value["ipv4"] = ipv4_json(vmknic.ipv4);
  if (vmknic.mac) value["mac"] = model::format_mac(*vmknic.mac);
  return value;
}

json to_json(const model::VmknicStatus& status) {
  json value = to_json(status.spec);
  value["interface"] = status.interface;
  value["vds"] = status.vds;
  value["mtu"] = status.mtu;
  value["tagged"] = status.tagged;
  value["problem"] = status.problem;
  return value;
}

json to_json(const model::VmknicChange& change) {
  return {{"ipv4", ipv4_json(change.ipv4)}};
}

json to_json(const model::SettingValue& setting) {
  return {{"path", setting.path}, {"value", setting.value}};
}

json to_json(const model::FirewallRuleset& ruleset) {
  return {{"name", ruleset.name}, {"enabled", ruleset.enabled}};
}

json to_json(const model::VmkernelConfiguration& configuration) {
  json value = {
      {"vmknics", json::array()}, {"settings", json::array()}, {"rulesets", json::array()}};
  for (const auto& vmknic : configuration.vmknics) value["vmknics"].push_back(to_json(vmknic));
  for (const auto& setting : configuration.settings) value["settings"].push_back(to_json(setting));
  for (const auto& ruleset : configuration.rulesets) value["rulesets"].push_back(to_json(ruleset));
  value["channel"] = {{"endpoint", configuration.channel.endpoint},
                      {"closed", configuration.channel.closed.why},
                      {"remedy", configuration.channel.closed.remedy}};
  value["hca"] = hca_json(configuration.hca);
  return value;
}

Result<model::Vmknic> vmknic_from_json(const json& value) {
  JsonReader reader(value, "vmknic");
  model::Vmknic vmknic = read_vmknic(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (Status good = model::check_vmknic(vmknic); !good) return std::unexpected(good.error());
  return vmknic;
}

Result<model::VmknicChange> vmknic_change_from_json(const json& value) {
  JsonReader reader(value, "change");
  model::VmknicChange change;
  if (!value.is_object() || !value.contains("ipv4")) reader.complain("ipv4", "is missing");
  change.ipv4 = read_ipv4(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  if (!change.ipv4) return change;
  if (Status good = model::check_private(*change.ipv4); !good) return std::unexpected(good.error());
  return change;
}

Result<model::SettingValue> setting_from_json(const json& value) {
  JsonReader reader(value, "setting");
  model::SettingValue setting = read_setting(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  return setting;
}

Result<model::FirewallRuleset> ruleset_from_json(const json& value) {
  JsonReader reader(value, "ruleset");
  model::FirewallRuleset ruleset = read_ruleset(reader);
  if (Status good = reader.finish(); !good) return std::unexpected(good.error());
  return ruleset;
}

Result<model::Vmknic> kept_vmknic_from_json(const json& value) {
  auto vmknic = read_lenient<model::Vmknic>(value, "vmknic", read_vmknic);
  if (!vmknic) return vmknic;
  if (Status good = model::check_vmknic(*vmknic); !good) return std::unexpected(good.error());
  return vmknic;
}

Result<model::SettingValue> kept_setting_from_json(const json& value) {
  return read_lenient<model::SettingValue>(value, "setting", read_setting);
}

Result<model::FirewallRuleset> kept_ruleset_from_json(const json& value) {
  return read_lenient<model::FirewallRuleset>(value, "ruleset", read_ruleset);
}

Result<model::VmknicStatus> vmknic_status_from_json(const json& value) {
  return read_lenient<model::VmknicStatus>(value, "vmknic", [](JsonReader& reader) {
    model::VmknicStatus status{.spec = read_vmknic(reader)};
    status.interface = reader.text("interface").value_or("");
    status.vds = reader.text("vds").value_or("");
    status.mtu = reader.u32("mtu").value_or(0);
    status.tagged = reader.boolean("tagged").value_or(false);
    status.problem = reader.text("problem").value_or("");
    return status;
  });
}

Result<model::VmkernelConfiguration> vmkernel_configuration_from_json(const json& value) {
  return read_lenient<model::VmkernelConfiguration>(value, "configuration", [](JsonReader& reader) {
    model::VmkernelConfiguration configuration;
    read_all(reader, "vmknics", configuration.vmknics, vmknic_status_from_json);
    read_all(reader, "settings", configuration.settings, [](const json& element) {
      return read_lenient<model::SettingValue>(element, "setting", read_setting);
    });
    read_all(reader, "rulesets", configuration.rulesets, [](const json& element) {
      return read_lenient<model::FirewallRuleset>(element, "ruleset", read_ruleset);
    });
    configuration.hca = read_hca(reader);
    const json* channel = reader.object("channel");
    if (channel == nullptr) return configuration;
    JsonReader inner(*channel, "channel");
    configuration.channel = {.endpoint = inner.text("endpoint").value_or(""),
                             .closed = {.why = inner.text("closed").value_or(""),
                                        .remedy = inner.text("remedy").value_or("")}};
    return configuration;
  });
}

}  // namespace paravane::api
