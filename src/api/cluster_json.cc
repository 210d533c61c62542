#include "api/cluster_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "json/json_reader.h"
#include "model/vm.h"

namespace paravane::api {

using nlohmann::json;

namespace {

std::vector<std::string> read_known_texts(JsonReader& reader, const char* key) {
  std::vector<std::string> texts;
  const json* array = reader.array(key);
  if (array == nullptr) return texts;
  for (const json& element : *array) {
    if (element.is_string()) texts.push_back(element.get<std::string>());
  }
  return texts;
}

void check_host(JsonReader& reader, const std::string& host) {
  if (const Status good = model::check_name(host); !good)
    reader.complain("host", good.error().message);
}

json host_to_json(const model::ClusterHost& host) {
  return {{"name", host.name},
          {"present", host.present},
          {"address", host.address},
          {"port", host.port},
          {"version", host.version},
          {"adapters", host.adapters},
          {"gids", host.gids},
          {"channel", host.channel},
          {"channel_problem", host.problem.text},
          {"channel_remedy", host.problem.remedy},
          {"channel_closed_by", host.problem.host},
          {"by_name", host.by_name},
          {"generation", host.generation},
          {"ahead", host.ahead}};
}

model::ClusterHost read_member(const json& value) {
  JsonReader reader(value, "host");
  return {.name = reader.text("name").value_or(""),
          .present = reader.boolean("present").value_or(false),
          .address = reader.text("address").value_or(""),
          .port = reader.u32("port").value_or(0),
          .version = reader.text("version").value_or(""),
          .adapters = reader.number("adapters").value_or(0),
          .gids = reader.number("gids").value_or(0),
          .channel = reader.text("channel").value_or(""),
          .problem = {.text = reader.text("channel_problem").value_or(""),
                      .remedy = reader.text("channel_remedy").value_or(""),
                      .host = reader.text("channel_closed_by").value_or("")},
          .by_name = reader.boolean("by_name").value_or(false),
          .generation = reader.number("generation").value_or(0),
          .ahead = reader.boolean("ahead").value_or(false)};
}

}  // namespace

json to_json(const model::ClusterInit& init) {
  json value = json::object();
  if (!init.host.empty()) value["host"] = init.host;
  if (init.etcd) {
    value["etcd"] = {{"authority", init.etcd->authority},
                     {"user", init.etcd->user},
                     {"password", init.etcd->password}};
    // An older daemon knows of one.
    if (init.etcd->urls.size() == 1) {
      value["etcd"]["url"] = init.etcd->urls.front();
    } else {
      value["etcd"]["urls"] = init.etcd->urls;
    }
  }
  return value;
}

json to_json(const model::TokenRequest& request) {
  return {{"host", request.host}, {"valid_s", request.valid_s}};
}

json to_json(const model::JoinToken& token) {
  return {{"token", token.token}, {"host", token.host}, {"valid_s", token.valid_s}};
}

json to_json(const model::ClusterStatus& status) {
  if (!status.member && status.damage.empty()) return {{"member", false}};
  if (!status.member) {
    return {{"member", false}, {"damage", status.damage}, {"damage_remedy", status.damage_remedy}};
  }
  json hosts = json::array();
  for (const model::ClusterHost& host : status.hosts) hosts.push_back(host_to_json(host));
  return {{"member", true},
          {"damage", status.damage},
          {"damage_remedy", status.damage_remedy},
          {"cluster", status.cluster},
          {"host", status.host},
          {"authority", status.authority},
          {"address", status.address},
          {"connected", status.connected},
          {"connecting", status.connecting},
          {"problem", status.problem},
          {"since_s", status.since_s},
          {"certificate_left_s", status.certificate_left_s},
          {"certificate_problem", status.certificate_problem},
          {"etcd", status.etcd},
          {"generation", status.generation},
          {"hosts", std::move(hosts)},
          {"lost", status.lost},
          {"odd_keys", status.odd_keys}};
}

json to_json(const std::vector<model::ClusterAdapter>& adapters) {
  json list = json::array();
  for (const model::ClusterAdapter& one : adapters) {
    list.push_back({{"host", one.host},
                    {"vm", one.adapter.vm},
                    {"number", one.adapter.number},
                    {"mac", model::format_mac(one.mac)},
                    {"port_group", one.port_group}});
  }
  return {{"adapters", std::move(list)}};
}

Result<std::vector<model::ClusterAdapter>> cluster_adapters_from_json(const json& value) {
  JsonReader reader(value, "adapters");
  std::vector<model::ClusterAdapter> list;
  const json* adapters = reader.array("adapters");
  if (adapters == nullptr) {
    reader.complain("adapters", "is missing");
  } else {
    for (const json& element : *adapters) {
      JsonReader one(element, "adapter");
      model::ClusterAdapter adapter{.host = one.need_text("host"), .adapter = {}};
      adapter.adapter.vm = one.need_text("vm");
      adapter.adapter.number = static_cast<std::uint32_t>(one.need_number("number", 0xFF));
      const auto mac = model::parse_mac(one.need_text("mac"));
      if (!mac) one.complain("mac", "must be a MAC address");
      adapter.mac = mac.value_or(model::MacAddress{});
      adapter.port_group = one.text("port_group").value_or("");
      if (const Status good = one.finish_ignoring_unknown(); !good) {
        return std::unexpected(good.error());
      }
      list.push_back(std::move(adapter));
    }
  }
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return list;
}

Result<model::ClusterInit> cluster_init_from_json(const json& value) {
  JsonReader reader(value, "request");
  model::ClusterInit init;
  init.host = reader.text("host").value_or("");
  if (!init.host.empty()) check_host(reader, init.host);
  if (const json* object = reader.object("etcd")) {
    JsonReader etcd(*object, "etcd");
    std::vector<std::string> urls = read_known_texts(etcd, "urls");
    if (const auto url = etcd.text("url")) urls.push_back(*url);
    if (urls.empty()) etcd.complain("urls", "must name a host");
    init.etcd = model::ExternalEtcd{.urls = std::move(urls),
                                    .authority = etcd.text("authority").value_or(""),
                                    .user = etcd.text("user").value_or(""),
                                    .password = etcd.text("password").value_or("")};
    if (const Status good = etcd.finish(); !good) reader.complain("etcd", good.error().message);
  }
  if (const Status good = reader.finish(); !good) return std::unexpected(good.error());
  return init;
}

Result<model::TokenRequest> token_request_from_json(const json& value) {
  JsonReader reader(value, "request");
  model::TokenRequest request;
  request.host = reader.need_text("host");
  request.valid_s = reader.u32("valid_s").value_or(request.valid_s);
  check_host(reader, request.host);
  if (request.valid_s < 1 || request.valid_s > model::kMaxTokenSeconds) {
    reader.complain("valid_s", "must be 1 to 86400 seconds");
  }
  if (const Status good = reader.finish(); !good) return std::unexpected(good.error());
  return request;
}

Result<std::string> join_request_from_json(const json& value) {
  JsonReader reader(value, "request");
  std::string token = reader.need_text("token");
  if (const Status good = reader.finish(); !good) return std::unexpected(good.error());
  return token;
}

Result<bool> restore_request_from_json(const json& value) {
  JsonReader reader(value, "request");
  const bool accept = reader.boolean("accept").value_or(false);
  if (!accept) reader.complain("accept", "must be true");
  if (const Status good = reader.finish(); !good) return std::unexpected(good.error());
  return accept;
}

Result<model::JoinToken> join_token_from_json(const json& value) {
  JsonReader reader(value, "token");
  model::JoinToken token{.token = reader.need_text("token"),
                         .host = reader.need_text("host"),
                         .valid_s = reader.u32("valid_s").value_or(0)};
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return token;
}

Result<model::ClusterStatus> cluster_status_from_json(const json& value) {
  JsonReader reader(value, "cluster");
  model::ClusterStatus status;
  status.member = reader.boolean("member").value_or(false);
  status.damage = reader.text("damage").value_or("");
  status.damage_remedy = reader.text("damage_remedy").value_or("");
  if (status.member) {
    status.cluster = reader.need_text("cluster");
    status.host = reader.need_text("host");
    status.authority = reader.need_text("authority");
    status.address = reader.need_text("address");
    status.connected = reader.boolean("connected").value_or(false);
    status.connecting = reader.boolean("connecting").value_or(false);
    status.problem = reader.need_text("problem");
    status.since_s = reader.need_number("since_s");
    status.certificate_left_s = reader.need_number("certificate_left_s");
    status.certificate_problem = reader.text("certificate_problem").value_or("");
    status.etcd = read_known_texts(reader, "etcd");
    status.generation = reader.number("generation").value_or(0);
    if (const json* hosts = reader.array("hosts")) {
      for (const json& host : *hosts) {
        if (host.is_object()) status.hosts.push_back(read_member(host));
      }
    }
    status.lost = read_known_texts(reader, "lost");
    status.odd_keys = reader.need_number("odd_keys");
  }
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return status;
}

}  // namespace paravane::api
