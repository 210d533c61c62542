// InfinibandCables manages the cables between this host's switch and those of the other hosts of
// its cluster: which hosts have one, which of them may manage the subnet, and what is the matter
// with one that is down.
//
// A host's packets are taken from its cable in any case, but what sets or changes the management of
// the subnet only if an operator has named the host: a subnet manager decides over all partitions
// and routes.
//
// Control thread only. Requests to the subnet's thread block this thread for a bounded time.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cable/byte_stream.h"
#include "model/api_error.h"
#include "model/infiniband.h"
#include "store/store.h"
#include "subnet_host/host_cables.h"
#include "subnet_host/subnet_thread.h"

namespace paravane::subnet_host {

class InfinibandCables {
 public:
  // What the cluster's side does: it makes the lines.
  class Maker {
   public:
    virtual ~Maker() = default;
    // This host has an InfiniBand adapter, so other hosts may have cables to it; or it has none.
    virtual void set_cables(bool has_adapters) = 0;
    // The line with this number is lost, and why. Another one is welcome.
    virtual void on_cable_lost(const std::string& host, std::uint64_t number,
                               const std::string& reason) = 0;
  };

  // `host`: this host's name. `store` outlives us.
  InfinibandCables(std::string host, store::Store& store)
      : own_name_(std::move(host)), host_(own_name_), store_(store) {}

  // This host's name, in its cluster if it is in one.
  const std::string& host() const { return host_; }

  // Reads the store. Errors: kStore.
  model::ApiResult<void> load();

  // ---- The cluster's side ----
  // null: this host is in no cluster. The maker is told at once what there is.
  void set_maker(Maker* maker);
  // The other hosts with an InfiniBand adapter, to which there is a cable each. `self`: this host's
  // name in the cluster, which its nodes tell from now on; empty: it is in no cluster.
  void set_hosts(const std::string& self, std::set<std::string> hosts);
  void add(const std::string& host, std::uint64_t number,
           std::unique_ptr<cable::ByteStream> stream);
  // Why there is no line to a host; empty: there is one.
  void set_problem(const std::string& host, const std::string& problem);
  // The host is not a member any more, or another machine has its name.
  void cut(const std::string& host, const std::string& reason);
  void cut_all(const std::string& reason);

  // ---- The subnet's side ----
  // The thread of the subnet, from now on; it outlives us, or ends after end().
  void begin(SubnetThread& thread);
  // The thread ends, and all lines with it.
  void end();
  void set_adapters(bool has_adapters);
  // A thread has told of it.
  void on_lost(const std::string& host, std::uint64_t number, const std::string& reason);
  // This host has left its cluster, and with it all cables.
  bool is_apart() const { return is_apart_; }
  // Why the cable to a host is down; `otherwise`, if its line has no problem.
  std::string why_down(const std::string& host, const std::string& otherwise) const;
  // Adds to the links of the switch what is the matter with the cables among them, and what to do.
  // `has_manager`: a program of this host is a subnet manager.
  void explain(model::IbFabric& fabric, bool has_manager) const;

  // ---- Operators ----
  std::vector<model::IbManager> list_managers() const;
  model::ApiResult<void> add_manager(const std::string& host);
  model::ApiResult<void> remove_manager(const std::string& host);

 private:
  void tell_thread();
  std::string problem_of(const std::string& host) const;
  // Of a host whose subnet manager wants to manage this one, and may not.
  std::string unheard(const std::string& host, bool has_manager) const;

  const std::string own_name_;
  std::string host_;
  store::Store& store_;
  Maker* maker_ = nullptr;
  SubnetThread* thread_ = nullptr;
  bool has_adapters_ = false;
  bool is_apart_ = false;
  std::set<std::string> managers_;
  std::set<std::string> hosts_;
  std::map<std::string, std::string> problems_;
  std::map<std::string, std::uint64_t> lines_;  // their numbers
};

}  // namespace paravane::subnet_host
