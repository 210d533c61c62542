// HandOver is the part of the engine that another engine replaces: it stops serving, leaves all
// that it has to its heir, and waits for the keeper's word. Then it ends, or goes on as if nothing
// had happened.
//
// It never goes on by a clock of its own: its heir may be serving the same guests by then.
//
// Control thread only. Blocks until the keeper has decided.

#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "api/event_log.h"
#include "base/instant.h"
#include "base/mailbox.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "cluster/cluster_service.h"
#include "host/host.h"
#include "http/api_server.h"
#include "privsep/estate_line.h"
#include "privsep/process_link.h"

namespace paravane::daemon {

class HandOver {
 public:
  // All outlive us. `mailbox`: of the control thread.
  struct Parts {
    const privsep::ProcessLink& keeper;
    host::Host& host;
    http::ApiServer& api;
    api::EventLog& events;
    cluster::ClusterService& cluster;
    Mailbox& mailbox;
  };
  explicit HandOver(const Parts& parts) : parts_(parts) {}

  // `facts`: what the heir says it is. Returns the text of the keeper's kResume, with the adapter
  // that has the most to hand over if time was up; or an error if the keeper has ended. Does not
  // return if the keeper has this engine exit.
  Result<std::string> run(const std::string& facts, UniqueFd line);

  // What the keeper said in the meantime, in order; still to be taken.
  std::deque<privsep::ProcessLink::NoteWithSocket> take_notes() { return std::move(notes_); }

 private:
  Status leave(const std::string& facts, UniqueFd line);
  Status quiet_api();
  void have_peers_wait();
  Status send_estate(privsep::EstateLine& line);
  Result<std::string> await_word();
  std::string what_took_long(const std::string& word) const;

  Parts parts_;
  Instant frozen_at_ = kNever;
  std::string largest_;  // adapter, by the length of its state
  std::size_t largest_bytes_ = 0;
  std::deque<privsep::ProcessLink::NoteWithSocket> notes_;
};

}  // namespace paravane::daemon
