#include "inventory/users.h"

#include "inventory/keys.h"

namespace paravane::inventory {
namespace {

// The first that fails is the answer.
template <typename... Steps>
Status in_turn(Steps... steps) {
  Status done;
  static_cast<void>(((done = steps(), done.has_value()) && ...));
  return done;
}

}  // namespace

std::string host_user(const std::string& host) {
  return "paravane-host-" + host;
}

Status admit_host(EtcdClient& root, const std::string& host, const std::string& password,
                  bool writes_configuration) {
  const std::string name = host_user(host);  // of user and role
  return in_turn([&] { return root.add_role(name); },
                 [&] { return root.allow(name, std::string(kRoot), false); },
                 [&] { return root.allow(name, host_prefix(host), true); },
                 [&] {
                   if (!writes_configuration) return Status();
                   return root.allow(name, std::string(kConfigPrefix), true);
                 },
                 [&] { return root.add_user(name, password); },
                 [&] { return root.give_role(name, name); });
}

Status dismiss_host(EtcdClient& root, const std::string& host) {
  const std::string name = host_user(host);
  return in_turn([&] { return root.remove_user(name); }, [&] { return root.remove_role(name); },
                 [&] { return root.erase_prefix(host_prefix(host)); });
}

Status close_etcd(EtcdClient& anybody, const std::string& root_password) {
  return in_turn([&] { return anybody.add_role("root"); },
                 [&] { return anybody.add_user("root", root_password); },
                 [&] { return anybody.give_role("root", "root"); },
                 [&] { return anybody.enable_auth(); });
}

}  // namespace paravane::inventory
