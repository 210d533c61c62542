// EtcdClient sends requests to etcd through its JSON gateway (/v3), one at a time. It logs in when
// necessary and tries the endpoints in turn. It waits at most kPatience for each response. A
// response can have at most kMaxAnswer bytes.
//
// Owner thread only. The calls block.
//
// Errors of all requests: kIo (no response; the message names the endpoint and the cause),
// kInvalidArgument (etcd's response cannot be understood), kNotFound, kBadState (permission is
// missing), kUnsupported (etcd refused for another reason), kOutOfRange (the revision was
// compacted).

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inventory/curl_handle.h"
#include "inventory/etcd_json.h"

namespace paravane::inventory {

// A change of one key; without a value, the key is deleted.
struct Write {
  std::string key;
  std::optional<std::string> value;
};

class EtcdClient {
 public:
  static constexpr std::chrono::milliseconds kPatience{5'000};
  static constexpr std::size_t kMaxAnswer = std::size_t{8} << 20;
  static constexpr std::size_t kMaxWrites = 100;  // etcd's own limit is 128

  // `access` and `open` outlive the client.
  EtcdClient(const EtcdAccess& access, const OpenSocket& open);

  // Calls `visit` for each key below `prefix`, in the order of keys, as they were at one revision,
  // and returns that revision. `visit` may return a later key at which to continue; empty: the next
  // key.
  using Visit = std::function<std::string(KeyValue&&)>;
  Result<std::int64_t> for_each(const std::string& prefix, const Visit& visit);
  // nullopt: there is no such key.
  Result<std::optional<KeyValue>> get(const std::string& key);
  Status put(const std::string& key, const std::string& value, std::int64_t lease = 0);
  // Makes all changes or none. REQUIRES: at most kMaxWrites.
  Status write(const std::vector<Write>& writes, std::int64_t lease = 0);
  // Makes the changes in as few transactions as possible, and stops at the first that fails.
  Status write_all(const std::vector<Write>& writes, std::int64_t lease = 0);
  // Creates the key. False: it already exists, and was not changed.
  Result<bool> create(const std::string& key, const std::string& value);
  Status erase_prefix(const std::string& prefix);
  // Deletes the history of keys before this revision.
  Status compact(std::int64_t revision);

  Result<std::int64_t> grant_lease(std::chrono::seconds ttl);
  // Returns the seconds until the lease expires; 0: it has expired.
  Result<std::int64_t> keep_alive(std::int64_t lease);
  Status revoke_lease(std::int64_t lease);

  // ---- its space; for a user with the role root ----
  struct Space {
    std::int64_t revision = 0;
    std::int64_t file_bytes = 0;
    bool is_full = false;  // its quota is used up; it accepts no more keys and leases
  };
  Result<Space> status();
  Status defragment();  // shrinks its file; it answers no requests meanwhile
  Status take_writes_again();

  // ---- Users and roles. Adding an existing one or removing a missing one is not an error. ----
  // Whether requests need a user at all.
  Result<bool> auth_enabled();
  Status enable_auth();  // REQUIRES: a user "root" with the role "root"
  Status add_user(const std::string& name, const std::string& password);  // or its new password
  Status remove_user(const std::string& name);
  Result<std::vector<std::string>> users();
  Status add_role(const std::string& name);
  Status remove_role(const std::string& name);
  Status allow(const std::string& role, const std::string& prefix, bool write);
  Status forbid(const std::string& role, const std::string& prefix);
  Status give_role(const std::string& user, const std::string& role);

  // The token to send with a watch request; empty: etcd needs none.
  Result<std::string> token();
  // The endpoint that answered last.
  const std::string& endpoint() const { return access_.endpoints[current_]; }

 private:
  Result<nlohmann::json> call(const char* path, const nlohmann::json& body);
  struct Reply {
    long status = 0;
    std::string body;
  };
  Result<Reply> ask(const char* path, const std::string& body, const std::string& token);
  Result<Reply> ask_one(const std::string& endpoint, const char* path, const std::string& body,
                        const std::string& token);
  Status log_in();
  Status accept(const Result<nlohmann::json>& answer, std::string_view harmless);

  const EtcdAccess& access_;
  CurlHandle curl_;
  std::size_t current_ = 0;
  std::string token_;
};

}  // namespace paravane::inventory
