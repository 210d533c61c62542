// ClusterWatch: creates an event when something changes in the cluster, for example when this host
// joins or leaves it, when another host appears or disappears, or when a channel or a trunk to
// another host opens or closes. If a host, a channel or a trunk changes constantly, the number of
// events about it in each ten seconds is limited.
//
// Control thread only.

#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/log_limit.h"
#include "inventory/view.h"
#include "model/event.h"

namespace paravane::cluster {

class ClusterWatch {
 public:
  // `self`: this host's name in the cluster; empty: it is not in a cluster. `view`: the state of
  // the cluster; null: it is unknown. Hosts that are present at the first call cause no event.
  std::vector<model::Event> look(const std::string& self, const inventory::View* view, Instant now);

  // `problem`: the reason why there is no channel; empty: there is a channel.
  std::vector<model::Event> on_channel(const std::string& host, const std::string& problem,
                                       Instant now);

  // Of the trunk to a host, which is a channel over `adapter`, an RDMA adapter of this host.
  // `problem`: the reason why it has ended; empty: it is open.
  std::vector<model::Event> on_trunk(const std::string& host, const std::string& adapter,
                                     const std::string& problem, Instant now);

 private:
  struct Told {
    bool good = false;  // the host is present, or the channel is open
    LogLimit limit{std::chrono::seconds(10), 4};
  };
  void look_at_hosts(const inventory::View& view, Instant now, std::vector<model::Event>& events);
  // Adds the event, unless the limit is reached. In that case `told` stays unchanged, so the event
  // is created later.
  static void tell(Told& told, bool good, model::Event event, Instant now,
                   std::vector<model::Event>& events);

  std::string self_;
  bool has_looked_ = false;            // at the hosts
  std::map<std::string, Told> hosts_;  // that were ever present
  std::map<std::string, Told> channels_;
  std::map<std::string, Told> trunks_;
};

}  // namespace paravane::cluster
