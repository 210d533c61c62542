#include "authority/door_message.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "authority/certificate.h"
#include "authority/succession.h"
#include "json/json_reader.h"
#include "json/json_text.h"
#include "model/vm.h"

namespace paravane::authority {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 7> kKinds = {"join",      "renew",     "leave",  "login",
                                                    "authority", "succeeded", "compare"};

std::string print_line(const json& value) {
  return print_json(value) + "\n";
}

constexpr std::array<std::string_view, 3> kRefusals = {"", "busy", "removed"};
// The end of a problem that is kBusy: releases before 0.2.0 know it by that.
constexpr std::string_view kTryAgain = "; try again";

// kOther: an older release does not name the reason, or a later one has another.
DoorRefusal parse_refusal(std::string_view text) {
  const auto* const found = std::ranges::find(kRefusals, text);
  return found == kRefusals.end() ? DoorRefusal{}
                                  : static_cast<DoorRefusal>(found - kRefusals.begin());
}

std::string print_refusal(const DoorAnswer& answer) {
  json value = {{"problem", answer.problem}};
  if (answer.refusal == DoorRefusal::kBusy)
    value["problem"] = answer.problem + std::string(kTryAgain);
  if (answer.refusal != DoorRefusal{}) {
    value["reason"] = kRefusals.at(static_cast<std::size_t>(answer.refusal));
  }
  return print_line(value);
}

Result<json> read_line(std::string_view line) {
  if (line.size() > kMaxDoorLine) return fail(Errc::kInvalidArgument, "the message is too long");
  auto value = parse_json(line);
  if (!value || !value->is_object())
    return fail(Errc::kInvalidArgument, "the message is not a JSON object");
  return value;
}

bool wants_certificate(DoorRequest::Kind kind) {
  return kind == DoorRequest::Kind::kJoin || kind == DoorRequest::Kind::kRenew;
}

bool has_token(DoorRequest::Kind kind) {
  return kind == DoorRequest::Kind::kJoin || kind == DoorRequest::Kind::kCompare;
}

std::map<std::string, std::string> read_documents(JsonReader& reader) {
  std::map<std::string, std::string> documents;
  const json* list = reader.object("documents");
  if (list == nullptr) {
    reader.complain("documents", "is missing");
    return documents;
  }
  for (const auto& [name, text] : list->items()) {
    if (!text.is_string()) {
      reader.complain("documents", "must contain only strings");
      return {};
    }
    documents[name] = text.get<std::string>();
  }
  return documents;
}

std::vector<std::string> read_names(JsonReader& reader, const char* key) {
  std::vector<std::string> names;
  const json* list = reader.array(key);
  if (list == nullptr) return names;
  for (const json& name : *list) {
    if (!name.is_string() || !model::check_name(name.get<std::string>())) {
      reader.complain(key, "must contain only valid names");
      return {};
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

std::string print_request(const DoorRequest& request) {
  json value = {{"version", 1}, {"ask", kKinds.at(static_cast<std::size_t>(request.kind))}};
  if (has_token(request.kind)) {
    value["token"] = request.token_id;
    value["secret"] = request.secret;
  }
  if (wants_certificate(request.kind)) value["request"] = request.request;
  if (request.kind == DoorRequest::Kind::kSucceeded) value["succession"] = request.succession;
  if (request.kind == DoorRequest::Kind::kCompare) value["documents"] = json(request.documents);
  return print_line(value);
}

Result<DoorRequest> parse_request(std::string_view line) {
  const auto value = read_line(line);
  if (!value) return std::unexpected(value.error());
  JsonReader reader(*value, "request");
  DoorRequest request;
  if (reader.need_number("version") != 1) reader.complain("version", "must be 1");
  const std::string kind = reader.need_text("ask");
  const auto found = std::ranges::find(kKinds, kind);
  if (found == kKinds.end()) {
    reader.complain("ask",
                    "must be one of join, renew, leave, login, authority, succeeded and compare");
  } else {
    request.kind = static_cast<DoorRequest::Kind>(found - kKinds.begin());
  }
  if (has_token(request.kind)) {
    request.token_id = reader.need_text("token");
    request.secret = reader.need_text("secret");
  }
  if (wants_certificate(request.kind)) request.request = reader.need_text("request");
  if (request.kind == DoorRequest::Kind::kSucceeded) {
    request.succession = reader.need_text("succession");
  }
  if (request.kind == DoorRequest::Kind::kCompare) {
    request.documents = read_documents(reader);
  }
  if (const Status good = reader.finish(); !good) return std::unexpected(good.error());
  return request;
}

std::string print_answer(const DoorAnswer& answer) {
  if (!answer.problem.empty()) return print_refusal(answer);
  json value = {
      {"host", answer.host}, {"certificate", answer.certificate}, {"authority", answer.authority}};
  if (!answer.etcd.empty()) {
    value["etcd"] = {{"endpoints", answer.etcd},
                     {"authority", answer.etcd_authority},
                     {"user", answer.etcd_user},
                     {"password", answer.etcd_password}};
  }
  if (!answer.succession.empty()) value["succession"] = answer.succession;
  if (!answer.sees.empty()) value["sees"] = answer.sees;
  if (answer.clock_s) value["clock"] = *answer.clock_s;
  if (answer.generation) value["generation"] = *answer.generation;
  if (!answer.other_switches.empty()) value["switches"] = answer.other_switches;
  if (!answer.other_port_groups.empty()) value["port_groups"] = answer.other_port_groups;
  return print_line(value);
}

Result<DoorAnswer> parse_answer(std::string_view line) {
  const auto value = read_line(line);
  if (!value) return std::unexpected(value.error());
  JsonReader reader(*value, "answer");
  DoorAnswer answer;
  answer.problem = reader.text("problem").value_or("");
  answer.refusal = parse_refusal(reader.text("reason").value_or(""));
  if (!answer.problem.empty()) return answer;
  answer.host = reader.need_text("host");
  answer.certificate = reader.need_text("certificate");
  answer.authority = reader.need_text("authority");
  answer.succession = reader.text("succession").value_or("");
  answer.sees = reader.text("sees").value_or("");
  if (!answer.sees.empty() && !model::check_name(answer.sees))
    reader.complain("sees", "is not a valid host name");
  answer.clock_s = reader.number("clock", kMaxDoorClock);
  answer.generation = reader.number("generation", kMaxDoorGeneration);
  answer.other_switches = read_names(reader, "switches");
  answer.other_port_groups = read_names(reader, "port_groups");
  if (const json* etcd = reader.object("etcd")) {
    JsonReader inner(*etcd, "etcd");
    const json* endpoints = inner.array("endpoints");
    answer.etcd_authority = inner.need_text("authority");
    answer.etcd_user = inner.need_text("user");
    answer.etcd_password = inner.need_text("password");
    if (endpoints == nullptr || endpoints->empty() || endpoints->size() > kMaxEndpoints) {
      inner.complain("endpoints", "must be a list of 1 to 16 endpoints");
    } else {
      for (const json& endpoint : *endpoints) {
        if (endpoint.is_string()) answer.etcd.push_back(endpoint.get<std::string>());
      }
    }
    if (const Status good = inner.finish_ignoring_unknown(); !good) {
      reader.complain("etcd", good.error().message);
    }
  }
  if (const Status good = reader.finish_ignoring_unknown(); !good) {
    return std::unexpected(good.error());
  }
  return answer;
}

}  // namespace paravane::authority
