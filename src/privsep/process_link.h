// ProcessLink is one side of the connection between two of paravaned's processes: the keeper, which
// has root's privileges, and the engine, which serves guests. A Note is one message on this
// connection, and is sent as one packet. The receiver does not trust the messages, because the
// engine could be compromised.
//
// One thread at a time, except for send().

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace paravane::privsep {

struct Note {
  enum class Kind : std::uint8_t {
    kNone = 0,              // what arrived was no note
    kReady = 1,             // engine: serves; with its status
    kStatus = 2,            // engine: in a few words
    kStopping = 3,          // engine: no text
    kLogLevel = 4,          // keeper: log from this level on
    kDial = 5,              // engine: "ID ADDRESS:PORT", wants a TCP connection (privsep/dialer.h)
    kListen = 6,            // engine: likewise, wants to listen there
    kSocket = 7,            // keeper: "ID" with the socket, or "ID CAUSE reason"
    kEtcd = 8,              // engine: an EtcdReach (privsep/etcd_reach.h)
    kSwitchPlan = 9,        // engine: how the switches on this host are to be
    kSwitchReport = 10,     // keeper: the answer to each plan
    kMachineQuestion = 11,  // engine: what this host has (privsep/machine_line.h)
    kMachineReport = 12,    // keeper: the answer to each question
    kSwitchNews = 13,       // keeper: unasked, how the switches of the last plan are now
    kRocePort = 14,         // keeper: a RocePortNote (privsep/roce_port_note.h), with the tap
    // An engine is replaced (keeper/succession.h). The heir is the new one.
    kUpgrade = 15,    // engine: an operator wants it; "check": only to look at the heir
    kHeirReady = 16,  // heir: HeirFacts (privsep/heir_facts.h); it waits for the estate
    kHandOver = 17,  // keeper to engine: stop serving and send the estate; with its line. HeirFacts
    kTaken = 18,     // heir: has the whole estate, and waits for kGo
    kCannot = 19,    // engine or heir: the reason why it cannot do its part
    kLetGo = 20,     // keeper to engine: exit at once, the heir has everything
    kGo = 21,        // keeper to heir: serve now; the version of the engine before it
    kResume = 22,    // keeper to engine: serve on. "checked HeirFacts", or "failed CAUSE"
    kHolder = 23,    // keeper: the line to another holder, since the last one has ended
    kTellTurns = 24,  // keeper: the worker is to say kTurns each so many microseconds
    kTurns = 25,      // engine, from its worker's thread: it turns
    kKeeper = 26,     // keeper: "VERSION", or "VERSION CAUSE" if it could not be replaced
    kUplinkTap = 27,  // keeper: an UplinkNote (privsep/uplink_note.h), with the tap
  };
  static constexpr std::size_t kMaxText = 255;  // bytes; what is longer is cut
  static constexpr std::size_t kMaxLongText = std::size_t{97} * 1024;  // of plans and reports

  Kind kind{};
  std::string text;  // printable ASCII; anything else arrives as '?'
};

// Whether a descriptor that this process was started with can be a side of a link, or of an estate
// line (privsep/estate_line.h).
bool is_line(int fd);

class ProcessLink {
 public:
  // A side that this process was started with.
  explicit ProcessLink(UniqueFd socket) : socket_(std::move(socket)) {}

  // Creates both sides of a connection. Errors: kIo.
  static Result<std::pair<ProcessLink, ProcessLink>> make();

  // False: the message was lost, because the other process has ended or does not read. Any thread.
  bool send(const Note& note) const;
  // Also sends a copy of the descriptor `with`.
  bool send(const Note& note, const UniqueFd& with) const;
  // Returns the next message; nullopt: none has arrived. Descriptors that come with it are closed.
  // Errors: kIo (the other process has ended).
  Result<std::optional<Note>> receive() const;
  // The same, with the descriptor that came with the message, if any. For the engine only, which
  // trusts the keeper not to fill its descriptor table.
  struct NoteWithSocket {
    Note note;
    UniqueFd socket;
  };
  Result<std::optional<NoteWithSocket>> receive_with_socket() const;

  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

 private:
  Result<std::optional<std::size_t>> next_size() const;
  UniqueFd socket_;
};

}  // namespace paravane::privsep
