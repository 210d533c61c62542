// ClusterWatch: creates events from changes in the cluster: this host joins or leaves, other hosts
// come and go, and channels to them open and close. For a host or channel that changes constantly,
// only a few events are created in ten seconds.
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
  // `self`: this host's name in the cluster; empty: it is in none. `view` null: nothing is
  // known. Those that are there at the first look are no news.
  std::vector<model::Event> look(const std::string& self, const inventory::View* view, Instant now);

  // Empty `problem`: there is a channel.
  std::vector<model::Event> on_channel(const std::string& host, const std::string& problem,
                                       Instant now);

 private:
  struct Told {
    bool good = false;  // the host is there, the channel open
    LogLimit limit{std::chrono::seconds(10), 4};
  };
  void look_at_hosts(const inventory::View& view, Instant now, std::vector<model::Event>& events);
  // Tells it, unless too much was told; then it is not so yet.
  static void tell(Told& told, bool good, model::Event event, Instant now,
                   std::vector<model::Event>& events);

  std::string self_;
  bool has_looked_ = false;            // at the hosts
  std::map<std::string, Told> hosts_;  // that were ever there
  std::map<std::string, Told> channels_;
};

}  // namespace paravane::cluster
