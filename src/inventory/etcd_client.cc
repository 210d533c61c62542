#include "inventory/etcd_client.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "json/json_text.h"

namespace paravane::inventory {

using nlohmann::json;

namespace {

constexpr std::size_t kPage = 1000;  // keys per answer, fewer where they are large

constexpr const char* kDisorder = "etcd's answer contains keys that were not requested";

// gRPC's codes, as far as they matter here.
enum Code : int {
  kInvalid = 3,
  kMissing = 5,
  kDenied = 7,
  kCompacted = 11,
  kUnavailable = 14,
  kUnauthenticated = 16,
};

Errc judge(const Refusal& refusal) {
  switch (refusal.code) {
    case kMissing: return Errc::kNotFound;
    case kDenied: return Errc::kBadState;
    case kCompacted: return Errc::kOutOfRange;
    case kUnavailable: return Errc::kIo;
    default: return Errc::kUnsupported;
  }
}

// A member that is cut off from the others, or has no leader, answers that it cannot.
bool is_cut_off(long status, std::string_view body) {
  return status != 200 && read_refusal(body).code == kUnavailable;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Our login is of no use any more: it has expired, or users have changed since.
bool must_log_in(const Refusal& refusal) {
  return refusal.code == kUnauthenticated || contains(refusal.message, "invalid auth token") ||
         contains(refusal.message, "revision of auth store is old") ||
         contains(refusal.message, "user name is empty");
}

json prefix_range(const std::string& prefix) {
  return {{"key", base64_encode(prefix)}, {"range_end", base64_encode(end_of_prefix(prefix))}};
}

json put_request(const std::string& key, const std::string& value, std::int64_t lease) {
  json put = {{"key", base64_encode(key)}, {"value", base64_encode(value)}};
  if (lease != 0) put["lease"] = std::to_string(lease);
  return put;
}

}  // namespace

EtcdClient::EtcdClient(const EtcdAccess& access, const OpenSocket& open)
    : access_(access), curl_(access, open) {}

auto EtcdClient::ask_one(const std::string& endpoint, const char* path, const std::string& body,
                         const std::string& token) -> Result<Reply> {
  Reply reply;
  bool too_large = false;
  curl_.prepare(endpoint + path, body, token, [&reply, &too_large](std::string_view data) {
    too_large = data.size() > kMaxAnswer - reply.body.size();
    if (!too_large) reply.body += data;
    return !too_large;
  });
  curl_easy_setopt(curl_.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(kPatience.count()));
  const CURLcode code = curl_easy_perform(curl_.get());
  if (too_large) return fail(Errc::kResourceExhausted, "etcd's answer is too large");
  if (code != CURLE_OK) {
    return fail(Errc::kIo, fmt::format("etcd at {}: {}", endpoint, curl_.explain(code)));
  }
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &reply.status);
  return reply;
}

auto EtcdClient::ask(const char* path, const std::string& body, const std::string& token)
    -> Result<Reply> {
  Result<Reply> reply = fail(Errc::kIo, "no etcd endpoint is known");
  for (std::size_t tried = 0; tried < access_.endpoints.size(); ++tried) {
    reply = ask_one(access_.endpoints[current_], path, body, token);
    if (reply ? !is_cut_off(reply->status, reply->body) : reply.error().code != Errc::kIo)
      return reply;
    if (access_.given_up != nullptr && *access_.given_up) return reply;
    current_ = (current_ + 1) % access_.endpoints.size();
  }
  return reply;
}

Status EtcdClient::log_in() {
  token_.clear();
  const json body = {{"name", access_.user}, {"password", access_.password}};
  const auto reply = ask("/v3/auth/authenticate", body.dump(), "");
  if (!reply) return std::unexpected(reply.error());
  if (reply->status != 200) {
    const Refusal refusal = read_refusal(reply->body);
    return fail(
        refusal.code == kUnavailable ? Errc::kIo : Errc::kBadState,
        fmt::format("etcd rejected the login of user {}: {}", access_.user, refusal.message));
  }
  const auto answer = parse_json(reply->body);
  if (!answer || !answer->is_object() || !answer->contains("token") ||
      !answer->at("token").is_string()) {
    return fail(Errc::kInvalidArgument, "etcd's answer to a login is not valid");
  }
  token_ = answer->at("token").get<std::string>();
  const bool printable = std::ranges::all_of(token_, [](char c) { return c > ' ' && c <= '~'; });
  if (printable) return {};
  token_.clear();
  return fail(Errc::kInvalidArgument, "etcd's answer to a login contains an unprintable token");
}

Result<json> EtcdClient::call(const char* path, const json& body) {
  const std::string text = body.dump();
  for (bool again = false;; again = true) {
    if (!access_.user.empty() && token_.empty()) {
      if (Status in = log_in(); !in) return std::unexpected(in.error());
    }
    const auto reply = ask(path, text, token_);
    if (!reply) return std::unexpected(reply.error());
    if (reply->status == 200) return parse_json(reply->body);
    const Refusal refusal = read_refusal(reply->body);
    if (again || access_.user.empty() || !must_log_in(refusal)) {
      return fail(judge(refusal), "etcd refused: " + refusal.message);
    }
    token_.clear();
  }
}

Result<std::string> EtcdClient::token() {
  if (access_.user.empty()) return std::string();
  // Not the old one: a watch is refused in the midst of its stream, where it is known late.
  if (Status in = log_in(); !in) return std::unexpected(in.error());
  return token_;
}

// ---- keys ----

Result<std::int64_t> EtcdClient::for_each(const std::string& prefix, const Visit& visit) {
  std::int64_t revision = 0;
  std::string from = prefix;
  const std::string end = end_of_prefix(prefix);
  std::size_t page = kPage;
  while (from < end) {
    json body = {{"key", base64_encode(from)}, {"range_end", base64_encode(end)}, {"limit", page}};
    if (revision != 0) body["revision"] = std::to_string(revision);
    const auto answer = call("/v3/kv/range", body);
    if (!answer && answer.error().code == Errc::kResourceExhausted && page > 1) {
      page = page > 8 ? page / 8 : 1;
      continue;
    }
    if (!answer) return std::unexpected(answer.error());
    auto range = read_range(*answer);
    if (!range) return std::unexpected(range.error());
    if (revision == 0) revision = range->revision;
    std::string next = range->more && !range->pairs.empty() ? range->pairs.back().key + '\0' : end;
    for (KeyValue& pair : range->pairs) {
      if (pair.key < from || pair.key >= end) return fail(Errc::kInvalidArgument, kDisorder);
      from = pair.key + '\0';
      std::string jump = visit(std::move(pair));
      if (jump <= from) continue;
      next = std::move(jump);
      page = kPage;  // it was that prefix whose values are long
      break;
    }
    from = std::move(next);
  }
  return revision;
}

Result<std::optional<KeyValue>> EtcdClient::get(const std::string& key) {
  const auto answer = call("/v3/kv/range", {{"key", base64_encode(key)}});
  if (!answer) return std::unexpected(answer.error());
  auto range = read_range(*answer);
  if (!range) return std::unexpected(range.error());
  if (range->pairs.empty()) return std::nullopt;
  return std::move(range->pairs.front());
}

Status EtcdClient::put(const std::string& key, const std::string& value, std::int64_t lease) {
  return accept(call("/v3/kv/put", put_request(key, value, lease)), {});
}

Status EtcdClient::write(const std::vector<Write>& writes, std::int64_t lease) {
  json operations = json::array();
  for (const Write& write : writes) {
    if (write.value) {
      operations.push_back({{"request_put", put_request(write.key, *write.value, lease)}});
    } else {
      operations.push_back({{"request_delete_range", {{"key", base64_encode(write.key)}}}});
    }
  }
  return accept(call("/v3/kv/txn", {{"success", std::move(operations)}}), {});
}

Status EtcdClient::write_all(const std::vector<Write>& writes, std::int64_t lease) {
  for (std::size_t at = 0; at < writes.size(); at += kMaxWrites) {
    const auto first = writes.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(kMaxWrites, writes.size() - at);
    const std::vector<Write> batch(first, first + static_cast<std::ptrdiff_t>(count));
    if (Status done = write(batch, lease); !done) return done;
  }
  return {};
}

Result<bool> EtcdClient::create(const std::string& key, const std::string& value) {
  const json absent = {
      {"key", base64_encode(key)}, {"target", "VERSION"}, {"result", "EQUAL"}, {"version", "0"}};
  const json put = {{"request_put", put_request(key, value, 0)}};
  const auto answer =
      call("/v3/kv/txn", {{"compare", json::array({absent})}, {"success", json::array({put})}});
  if (!answer) return std::unexpected(answer.error());
  return answer->is_object() && answer->contains("succeeded") && answer->at("succeeded") == true;
}

Status EtcdClient::erase_prefix(const std::string& prefix) {
  return accept(call("/v3/kv/deleterange", prefix_range(prefix)), {});
}

Status EtcdClient::compact(std::int64_t revision) {
  return accept(call("/v3/kv/compaction", {{"revision", std::to_string(revision)}}), {});
}

// ---- space ----

auto EtcdClient::status() -> Result<Space> {
  const auto answer = call("/v3/maintenance/status", json::object());
  if (!answer) return std::unexpected(answer.error());
  const auto alarms = call("/v3/maintenance/alarm", {{"action", "GET"}});
  if (!alarms) return std::unexpected(alarms.error());
  const auto range = read_range(*answer);  // for the header
  const auto size = read_int64(*answer, "dbSize");
  const auto full = read_full_members(*alarms);
  if (!range) return std::unexpected(range.error());
  if (!size) return std::unexpected(size.error());
  if (!full) return std::unexpected(full.error());
  return Space{.revision = range->revision, .file_bytes = *size, .is_full = !full->empty()};
}

Status EtcdClient::defragment() {
  return accept(call("/v3/maintenance/defragment", json::object()), {});
}

Status EtcdClient::take_writes_again() {
  const auto alarms = call("/v3/maintenance/alarm", {{"action", "GET"}});
  if (!alarms) return std::unexpected(alarms.error());
  const auto full = read_full_members(*alarms);
  if (!full) return std::unexpected(full.error());
  for (const std::string& member : *full) {
    const json body = {{"action", "DEACTIVATE"}, {"memberID", member}, {"alarm", "NOSPACE"}};
    if (Status off = accept(call("/v3/maintenance/alarm", body), {}); !off) return off;
  }
  return {};
}

// ---- leases ----

Result<std::int64_t> EtcdClient::grant_lease(std::chrono::seconds ttl) {
  const auto answer = call("/v3/lease/grant", {{"TTL", std::to_string(ttl.count())}});
  if (!answer) return std::unexpected(answer.error());
  const auto id = read_int64(*answer, "ID");
  if (id && *id != 0) return id;
  return fail(Errc::kInvalidArgument, "etcd did not grant a lease");
}

Result<std::int64_t> EtcdClient::keep_alive(std::int64_t lease) {
  const auto answer = call("/v3/lease/keepalive", {{"ID", std::to_string(lease)}});
  if (!answer) return std::unexpected(answer.error());
  if (!answer->is_object() || !answer->contains("result")) {
    return fail(Errc::kInvalidArgument, "etcd's answer about a lease is not valid");
  }
  return read_int64(answer->at("result"), "TTL");
}

Status EtcdClient::revoke_lease(std::int64_t lease) {
  const Status revoked = accept(call("/v3/lease/revoke", {{"ID", std::to_string(lease)}}), {});
  if (!revoked && revoked.error().code == Errc::kNotFound) return {};
  return revoked;
}

// ---- users and roles ----

// `harmless`: part of the refusal that says that nothing is to be done.
Status EtcdClient::accept(const Result<json>& answer, std::string_view harmless) {
  if (answer) return {};
  if (!harmless.empty() && contains(answer.error().message, harmless)) return {};
  return std::unexpected(answer.error());
}

Result<bool> EtcdClient::auth_enabled() {
  // /v3/auth/status is not there before etcd 3.5.
  const auto reply = ask("/v3/auth/user/list", "{}", "");
  if (!reply) return std::unexpected(reply.error());
  if (reply->status == 200) return false;
  const Refusal refusal = read_refusal(reply->body);
  if (must_log_in(refusal) || refusal.code == kInvalid || refusal.code == kDenied) return true;
  return fail(judge(refusal), "etcd refused: " + refusal.message);
}

Status EtcdClient::enable_auth() {
  return accept(call("/v3/auth/enable", json::object()), {});
}

Status EtcdClient::add_user(const std::string& name, const std::string& password) {
  const json body = {{"name", name}, {"password", password}};
  const auto added = call("/v3/auth/user/add", body);
  if (added || !contains(added.error().message, "already exists")) return accept(added, {});
  return accept(call("/v3/auth/user/changepw", body), {});
}

Status EtcdClient::remove_user(const std::string& name) {
  return accept(call("/v3/auth/user/delete", {{"name", name}}), "not found");
}

Result<std::vector<std::string>> EtcdClient::users() {
  const auto answer = call("/v3/auth/user/list", json::object());
  if (!answer) return std::unexpected(answer.error());
  return read_names(*answer, "users");
}

Status EtcdClient::add_role(const std::string& name) {
  return accept(call("/v3/auth/role/add", {{"name", name}}), "already exists");
}

Status EtcdClient::remove_role(const std::string& name) {
  return accept(call("/v3/auth/role/delete", {{"role", name}}), "not found");
}

Status EtcdClient::allow(const std::string& role, const std::string& prefix, bool write) {
  json permission = prefix_range(prefix);
  permission["permType"] = write ? "READWRITE" : "READ";
  return accept(call("/v3/auth/role/grant", {{"name", role}, {"perm", std::move(permission)}}), {});
}

Status EtcdClient::forbid(const std::string& role, const std::string& prefix) {
  json permission = prefix_range(prefix);
  permission["role"] = role;
  return accept(call("/v3/auth/role/revoke", permission), "not granted");
}

Status EtcdClient::give_role(const std::string& user, const std::string& role) {
  return accept(call("/v3/auth/user/grant", {{"user", user}, {"role", role}}), {});
}

}  // namespace paravane::inventory
